//! The watchdog of RFC 3539, appendix A, as a table without time: its timer is the machine's.
//!
//! How long a peer that falls silent is kept, Tw being the configured interval and each of the three jittered by up to
//! 2 s either way: a DWR after Tw of silence, no new requests (SUSPECT, failover) after one more, closed after a third.
//! With the least Tw of 6 s: suspect after 8 to 16 s, closed after 12 to 24 s; with the default of 30 s: 56 to 64 s and
//! 84 to 96 s.

/// The status of the peer control block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Never opened, or closed by agreement (DPR) since.
    #[default]
    Initial,
    /// In use.
    Okay,
    /// A watchdog request went unanswered for Tw: no new requests, the pending ones fail over.
    Suspect,
    /// Closed after a failure.
    Down,
    /// Open again after a failure: not used for requests until three watchdog answers have come.
    Reopen,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A DWA was received.
    ReceiveDwa,
    /// Any other message was received.
    ReceiveNonDwa,
    /// Tw expired; in `Initial` and `Down`: Tc.
    TimerExpires,
    /// The capabilities exchange ended well.
    ConnectionUp,
    /// The connection is gone.
    ConnectionDown,
}

/// What has to be done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a DWR.
    SendWatchdog,
    /// Start Tw anew.
    SetWatchdog,
    /// No new requests; move the pending ones.
    Failover,
    /// Requests again.
    Failback,
    /// Close the transport connection.
    CloseConnection,
    /// Try to connect.
    AttemptOpen,
}

/// The peer control block, its timer apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watchdog {
    status: Status,
    pending: bool,
    num_dwa: i8,
}

impl Status {
    /// The RFC's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initial => "INITIAL",
            Self::Okay => "OKAY",
            Self::Suspect => "SUSPECT",
            Self::Down => "DOWN",
            Self::Reopen => "REOPEN",
        }
    }
}

impl Watchdog {
    /// Where it stands.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// Is a DWR unanswered?
    pub const fn pending(&self) -> bool {
        self.pending
    }

    /// A DWR was sent out of turn, as a probe: none is sent again before its answer.
    pub(super) const fn probed(&mut self) {
        self.pending = true;
    }

    /// Both ends agreed on closing (DPR, DPA). Ours: the next connection starts in INITIAL. REOPEN is there to keep a
    /// connection that failed out of use until it has proved itself; one that was closed in order has not failed.
    pub(super) fn closed_in_order(&mut self) {
        *self = Self::default();
    }

    /// One step of the table.
    ///
    /// Received messages are never thrown away (Ours, for every `Throwaway()` below): in INITIAL and DOWN none can
    /// come, and in REOPEN the peer's requests and answers are as good as any; a request dropped would cost its client
    /// a timeout. Identifiers of DWAs are not compared: a peer that bungles them is alive all the same.
    #[expect(clippy::match_same_arms, reason = "an arm a row of the RFC's")]
    pub fn step(&mut self, input: Input) -> &'static [Action] {
        use Action::{AttemptOpen, CloseConnection, Failback, Failover, SendWatchdog, SetWatchdog};
        use Input::{ConnectionDown, ConnectionUp, ReceiveDwa, ReceiveNonDwa, TimerExpires};
        use Status::{Down, Initial, Okay, Reopen, Suspect};

        if input == ReceiveDwa {
            self.pending = false;
        }
        let (status, actions): (Status, &'static [Action]) = match (self.status, input) {
            //   STATE         Event                Actions              New State
            //   OKAY          Receive DWA          Pending = FALSE
            //                                      SetWatchdog()        OKAY
            //   OKAY          Receive non-DWA      SetWatchdog()        OKAY
            (Okay, ReceiveDwa | ReceiveNonDwa) => (Okay, &[SetWatchdog]),

            //   SUSPECT       Receive DWA          Pending = FALSE
            //                                      Failback()
            //                                      SetWatchdog()        OKAY
            //   SUSPECT       Receive non-DWA      Failback()
            //                                      SetWatchdog()        OKAY
            (Suspect, ReceiveDwa | ReceiveNonDwa) => (Okay, &[Failback, SetWatchdog]),

            //   REOPEN        Receive DWA &        Pending = FALSE
            //                 NumDWA == 2          NumDWA++
            //                                      Failback()           OKAY
            // Ours: SetWatchdog() too, as on every other DWA, so that Tw counts from the last message.
            (Reopen, ReceiveDwa) if self.num_dwa >= 2 => {
                self.num_dwa += 1;
                (Okay, &[Failback, SetWatchdog])
            }
            //   REOPEN        Receive DWA &        Pending = FALSE
            //                 NumDWA < 2           NumDWA++             REOPEN
            // Ours: the next DWR leaves at once, not when Tw expires. Section 3.4.1 [5] asks for three that are
            // answered, RFC 6733 section 5.1 for accepted round-trip times; neither for 2 Tw out of service.
            (Reopen, ReceiveDwa) => {
                self.num_dwa += 1;
                self.pending = true;
                (Reopen, &[SendWatchdog, SetWatchdog])
            }
            //   REOPEN        Receive non-DWA      Throwaway()          REOPEN
            (Reopen, ReceiveNonDwa) => (Reopen, &[]),

            //   INITIAL       Receive DWA          Pending = FALSE
            //                                      Throwaway()          INITIAL
            //   INITIAL       Receive non-DWA      Throwaway()          INITIAL
            (Initial, ReceiveDwa | ReceiveNonDwa) => (Initial, &[]),
            //   DOWN          Receive DWA          Pending = FALSE
            //                                      Throwaway()          DOWN
            //   DOWN          Receive non-DWA      Throwaway()          DOWN
            (Down, ReceiveDwa | ReceiveNonDwa) => (Down, &[]),

            //   OKAY          Timer expires &      SendWatchdog()
            //                 !Pending             SetWatchdog()
            //                                      Pending = TRUE       OKAY
            //   REOPEN        Timer expires &      SendWatchdog()
            //                 !Pending             SetWatchdog()
            //                                      Pending = TRUE       REOPEN
            (Okay | Reopen, TimerExpires) if !self.pending => {
                self.pending = true;
                (self.status, &[SendWatchdog, SetWatchdog])
            }
            //   OKAY          Timer expires &      Failover()
            //                 Pending              SetWatchdog()        SUSPECT
            (Okay, TimerExpires) => (Suspect, &[Failover, SetWatchdog]),
            //   SUSPECT       Timer expires        CloseConnection()
            //                                      SetWatchdog()        DOWN
            // SetWatchdog() in DOWN, here and below: the machine's Tc (RFC 6733 section 2.1) with its back-off.
            (Suspect, TimerExpires) => (Down, &[CloseConnection]),
            //   INITIAL       Timer expires        AttemptOpen()
            //                                      SetWatchdog()        INITIAL
            (Initial, TimerExpires) => (Initial, &[AttemptOpen]),
            //   DOWN          Timer expires        AttemptOpen()
            //                                      SetWatchdog()        DOWN
            (Down, TimerExpires) => (Down, &[AttemptOpen]),
            //   REOPEN        Timer expires &      CloseConnection()
            //                 Pending &            SetWatchdog()
            //                 NumDWA < 0                                DOWN
            (Reopen, TimerExpires) if self.num_dwa < 0 => (Down, &[CloseConnection]),
            //   REOPEN        Timer expires &      NumDWA = -1
            //                 Pending &            SetWatchdog()
            //                 NumDWA >= 0                               REOPEN
            (Reopen, TimerExpires) => {
                self.num_dwa = -1;
                (Reopen, &[SetWatchdog])
            }

            //   INITIAL       Connection up        SetWatchdog()        OKAY
            (Initial, ConnectionUp) => {
                self.pending = false;
                (Okay, &[SetWatchdog])
            }
            //   DOWN          Connection up        NumDWA = 0
            //                                      SendWatchdog()
            //                                      SetWatchdog()
            //                                      Pending = TRUE       REOPEN
            (Down, ConnectionUp) => {
                self.num_dwa = 0;
                self.pending = true;
                (Reopen, &[SendWatchdog, SetWatchdog])
            }
            // An error in the RFC; the machine closes the old connection first.
            (Okay | Suspect | Reopen, ConnectionUp) => (self.status, &[]),

            //   OKAY          Connection down      CloseConnection()
            //                                      Failover()
            //                                      SetWatchdog()        DOWN
            //   SUSPECT       Connection down      CloseConnection()
            //                                      SetWatchdog()        DOWN
            //   REOPEN        Connection down      CloseConnection()
            //                                      SetWatchdog()        DOWN
            // Closing and failing over are done by whoever found the connection down.
            (Okay | Suspect | Reopen, ConnectionDown) => (Down, &[]),
            // A first connection that never opened has not failed: INITIAL stays.
            (Initial | Down, ConnectionDown) => (self.status, &[]),
        };
        if status == Down {
            self.pending = false;
        }
        self.status = status;
        actions
    }
}
