//! Numbers of the base protocol (RFC 6733 sections 3.1, 4.5 and 5.4; RFC 7944).

/// Command codes.
pub mod command {
    /// Capabilities-Exchange
    pub const CAPABILITIES_EXCHANGE: u32 = 257;
    /// Device-Watchdog
    pub const DEVICE_WATCHDOG: u32 = 280;
    /// Disconnect-Peer
    pub const DISCONNECT_PEER: u32 = 282;
}

/// Application-Ids.
pub mod application {
    /// Diameter common messages
    pub const BASE: u32 = 0;
    /// Relay: every application
    pub const RELAY: u32 = 0xffff_ffff;
}

/// AVP codes without a vendor.
pub mod avp {
    /// User-Name
    pub const USER_NAME: u32 = 1;
    /// Host-IP-Address
    pub const HOST_IP_ADDRESS: u32 = 257;
    /// Auth-Application-Id
    pub const AUTH_APPLICATION_ID: u32 = 258;
    /// Acct-Application-Id
    pub const ACCT_APPLICATION_ID: u32 = 259;
    /// Vendor-Specific-Application-Id
    pub const VENDOR_SPECIFIC_APPLICATION_ID: u32 = 260;
    /// Session-Id
    pub const SESSION_ID: u32 = 263;
    /// Origin-Host
    pub const ORIGIN_HOST: u32 = 264;
    /// Supported-Vendor-Id
    pub const SUPPORTED_VENDOR_ID: u32 = 265;
    /// Vendor-Id
    pub const VENDOR_ID: u32 = 266;
    /// Firmware-Revision
    pub const FIRMWARE_REVISION: u32 = 267;
    /// Result-Code
    pub const RESULT_CODE: u32 = 268;
    /// Product-Name
    pub const PRODUCT_NAME: u32 = 269;
    /// Disconnect-Cause
    pub const DISCONNECT_CAUSE: u32 = 273;
    /// Origin-State-Id
    pub const ORIGIN_STATE_ID: u32 = 278;
    /// Failed-AVP
    pub const FAILED_AVP: u32 = 279;
    /// Error-Message
    pub const ERROR_MESSAGE: u32 = 281;
    /// Route-Record
    pub const ROUTE_RECORD: u32 = 282;
    /// Destination-Realm
    pub const DESTINATION_REALM: u32 = 283;
    /// Proxy-Info
    pub const PROXY_INFO: u32 = 284;
    /// Destination-Host
    pub const DESTINATION_HOST: u32 = 293;
    /// Origin-Realm
    pub const ORIGIN_REALM: u32 = 296;
    /// Experimental-Result
    pub const EXPERIMENTAL_RESULT: u32 = 297;
    /// Inband-Security-Id
    pub const INBAND_SECURITY_ID: u32 = 299;
    /// DRMP (RFC 7944)
    pub const DRMP: u32 = 301;
}

/// The shortest data, all zeros, that the base AVP of that code can have: 4 bytes where its type has just that size, none
/// where it has no size of its own or is not known here.
pub const fn shortest_data(code: u32) -> &'static [u8] {
    match code {
        avp::AUTH_APPLICATION_ID
        | avp::ACCT_APPLICATION_ID
        | avp::SUPPORTED_VENDOR_ID
        | avp::VENDOR_ID
        | avp::FIRMWARE_REVISION
        | avp::RESULT_CODE
        | avp::DISCONNECT_CAUSE
        | avp::ORIGIN_STATE_ID
        | avp::INBAND_SECURITY_ID
        | avp::DRMP => &[0; 4],
        _ => &[],
    }
}
