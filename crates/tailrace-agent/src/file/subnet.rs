//! Addresses with a common beginning, as files name them.

use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;

/// Addresses with a common beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Subnet {
    first: IpAddr,
    bits: u8,
}

impl TryFrom<String> for Subnet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        let wrong = || format!("\"{text}\" is no address and no subnet such as \"10.0.1.0/24\"");
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        let subnet = Subnet { first: address, bits };
        let whole = bits <= most && Subnet { bits: most, ..subnet }.number() & !subnet.mask() == 0;
        if whole { Ok(subnet) } else { Err(wrong()) }
    }
}

impl Subnet {
    fn number(&self) -> u128 {
        number(self.first)
    }

    fn mask(&self) -> u128 {
        let bits = u32::from(self.bits) + if self.first.is_ipv4() { 96 } else { 0 };
        if bits == 0 { 0 } else { u128::MAX << (128 - bits) }
    }

    /// The first of its addresses.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// How many bits its addresses have in common.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Whether an address is of it.
    pub fn has(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && number(address) & self.mask() == self.number()
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}
