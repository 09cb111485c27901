//! Fingerprints of texts and files.

/// The 128-bit FNV-1a hash of `content` as 32 hexadecimal digits. Identifies, but does not protect.
pub fn fingerprint(content: &[u8]) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    const BASIS: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
    let hash = content.iter().fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn it_is_fnv_1a() {
        // Values of the reference implementation (Fowler, Noll, Vo).
        assert_eq!(fingerprint(b""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(fingerprint(b"a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(fingerprint(b"foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }
}
