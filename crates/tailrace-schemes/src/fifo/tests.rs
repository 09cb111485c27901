//! The law without a network.

use super::*;

#[test]
fn the_window_never_moves() {
    let allowance = Allowance { window: Bytes::new(14_600), pacing: None };
    let mut law = FixedWindow(allowance);
    law.on_loss(
        Time::ZERO,
        Loss::Timeout,
        &FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO },
    );
    assert_eq!(law.allowance(), allowance);
}
