//! Makes an input that fails as short as patience allows.

/// Leaves out parts of `input`, halves first and single bytes last, as long as what is left `fails`. Gives up after so
/// many `tries`.
pub fn shrink(input: &[u8], mut tries: u32, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut least = input.to_vec();
    let mut part = least.len() / 2;
    while part > 0 {
        let mut at = 0;
        while at < least.len() {
            let Some(left) = tries.checked_sub(1) else { return least };
            tries = left;
            let end = least.len().min(at + part);
            let shorter = [&least[..at], &least[end..]].concat();
            if fails(&shorter) {
                least = shorter;
            } else {
                at += part;
            }
        }
        part /= 2;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[test]
    fn what_is_not_needed_goes() {
        let fails = |input: &[u8]| input.contains(&7) && input.contains(&9);
        assert_eq!(shrink(&[1, 7, 2, 3, 9, 4, 5, 6], 1000, fails), [7, 9]);
        assert_eq!(shrink(&[7, 9], 1000, fails), [7, 9]);
        assert_eq!(shrink(&[1, 7, 2, 3, 9, 4, 5, 6], 0, fails), [1, 7, 2, 3, 9, 4, 5, 6]);
    }
}
