//! Byte offsets of kernel fields, from the running kernel's BTF (through libbpf).

use libbpf_rs::btf::types::{Composite, MemberAttr, Struct};
use libbpf_rs::btf::{Btf, BtfType};
use std::path::Path;

/// A field whose offset a program needs: the program's global, the structure, the field.
type Field = (&'static str, &'static str, &'static str);

const FIELDS: [Field; 15] = [
    ("SOCKET_SK", "socket", "sk"),
    ("SOCK_PROTOCOL", "sock", "sk_protocol"),
    ("SOCK_WMEM_QUEUED", "sock", "sk_wmem_queued"),
    ("SOCK_SNDBUF", "sock", "sk_sndbuf"),
    ("SOCK_FAMILY", "sock_common", "skc_family"),
    ("SOCK_NUM", "sock_common", "skc_num"),
    ("SOCK_DPORT", "sock_common", "skc_dport"),
    ("SOCK_DADDR", "sock_common", "skc_daddr"),
    ("SOCK_RCV_SADDR", "sock_common", "skc_rcv_saddr"),
    ("SOCK_V6_DADDR", "sock_common", "skc_v6_daddr"),
    ("SOCK_V6_RCV_SADDR", "sock_common", "skc_v6_rcv_saddr"),
    ("TCP_WRITE_SEQ", "tcp_sock", "write_seq"),
    ("TCP_SND_UNA", "tcp_sock", "snd_una"),
    ("SKB_CB", "sk_buff", "cb"),
    ("TCP_SKB_CB_ACK_SEQ", "tcp_skb_cb", "ack_seq"),
];

/// What the kernel's BTF says of the fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Offsets(Vec<(Field, Option<u32>)>);

impl Offsets {
    /// Looks all of them up, in a BTF file (raw or ELF) or the running kernel's.
    pub(super) fn find(file: Option<&Path>) -> Result<Self, libbpf_rs::Error> {
        // What libbpf has to say comes back as an error: nothing of it on standard error.
        libbpf_rs::set_print(None);
        let btf = match file {
            Some(path) => Btf::from_path(path)?,
            None => Btf::from_vmlinux()?,
        };
        Ok(Self(FIELDS.iter().map(|&field| (field, lookup(&btf, field))).collect()))
    }

    /// (global, offset) of every field found.
    pub(super) fn found(&self) -> impl Iterator<Item = (&'static str, &u32)> {
        self.0.iter().filter_map(|((global, ..), offset)| offset.as_ref().map(|offset| (*global, offset)))
    }

    /// The first of those globals whose field this kernel lacks, as `structure.field`.
    pub(super) fn missing(&self, globals: &[&str]) -> Option<String> {
        let absent = |(field, offset): &&(Field, Option<u32>)| offset.is_none() && globals.contains(&field.0);
        self.0.iter().find(absent).map(|((_, structure, field), _)| format!("{structure}.{field}"))
    }
}

fn lookup(btf: &Btf<'_>, (_, structure, field): Field) -> Option<u32> {
    let structure: Struct<'_> = btf.type_by_name(structure)?;
    member(btf, &Composite::from(structure), field, 0)
}

/// Byte offset of a member, looked for in unnamed members too. `base`: bits.
fn member(btf: &Btf<'_>, composite: &Composite<'_>, name: &str, base: u32) -> Option<u32> {
    composite.iter().find_map(|member_| {
        let (MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. }) = member_.attr;
        match member_.name {
            Some(own) if !own.is_empty() => (own == name).then_some((base + offset) / 8),
            _ => {
                let inner: BtfType<'_> = btf.type_by_id(member_.ty)?;
                let inner = Composite::try_from(inner.skip_mods_and_typedefs()).ok()?;
                member(btf, &inner, name, base + offset)
            }
        }
    })
}
