//! The cut by priority.

use super::*;

#[test]
fn a_priority_of_one_is_dctcp_and_none_cuts_by_alpha() {
    assert_eq!(by_cut(1.0), Bias { growth: 1.0, cut: 1.0 });
    assert_eq!(by_cut(0.0), Bias { growth: 1.0, cut: 2.0 });
}
