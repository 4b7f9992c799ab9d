//! Answers that the agent builds in place of ones that cannot come (rule 8, RFC 6733 sections 6.2 and 7).

use super::{Builder, Message, codes::avp};
use crate::refusal::is_protocol_error;
use bytes::Bytes;

/// What an answer of ours says.
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'a> {
    /// Result-Code.
    pub result_code: u32,
    /// Error-Message: which rule refused, and why.
    pub error_message: &'a str,
    /// What Failed-AVP holds, if anything: whole AVPs.
    pub failed_avp: Option<&'a [u8]>,
}

/// Builds the answer: Session-Id and every Proxy-Info copied back, both identifiers and the P bit kept, Origin-Host and
/// -Realm ours, the E bit set on 3xxx. For a request whose AVPs cannot be walked, what can be read of them is used.
pub fn answer(request: &Message<'_>, origin_host: &str, origin_realm: &str, verdict: &Verdict<'_>) -> Bytes {
    let mut b = Builder::answer(&request.header);
    if is_protocol_error(verdict.result_code) {
        b = b.error();
    }
    b = b
        .session_of(request)
        .u32(avp::RESULT_CODE, verdict.result_code)
        .bytes(avp::ORIGIN_HOST, origin_host.as_bytes())
        .bytes(avp::ORIGIN_REALM, origin_realm.as_bytes());
    if !verdict.error_message.is_empty() {
        b = b.avp(avp::ERROR_MESSAGE, None, 0, verdict.error_message.as_bytes());
    }
    if let Some(failed) = verdict.failed_avp {
        b = b.bytes(avp::FAILED_AVP, failed);
    }
    b.proxy_info_of(request).finish()
}
