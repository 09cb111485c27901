//! Mistakes about slices, and about the schemes by which they share.

use crate::place::{FABRIC, refused, rule, scheme};

#[test]
fn guests_that_cannot_be_wrapped_say_why_and_which_can() {
    let wrapped = |scheme_name: &str, field: &str, guest: &str| {
        let params = format!("[scheme.params]\n{field} = {guest}");
        FABRIC.to_owned() + &rule("") + &scheme(scheme_name, &params)
    };
    let known = "known guests are cubic, tcp, dctcp, d2tcp, l2dct";
    for guest in ["pias", "fifo", "pdq", "wvcc"] {
        let why = format!("\"{guest}\" cannot be wrapped: a guest keeps a window by acknowledgements");
        let quoted = format!("\"{guest}\"");
        refused(&wrapped("wvcc", "guest", &quoted), &["x.toml:15: scheme[0].params.guest: ", &why, known]);
        refused(&wrapped("acdc", "guest", &quoted), &["scheme[0].params.guest: ", &why, known]);
        for objective in ["guests.deadline", "guests.completion"] {
            let place = format!("x.toml:15: scheme[0].params.{objective}: ");
            refused(&wrapped("uranus", objective, &quoted), &[&place, &why, known]);
        }
    }
    for (guest, said) in [
        ("\"cubci\"", "unknown value \"cubci\"; did you mean \"cubic\"?"),
        ("\"reno\"", "unknown value \"reno\"; known are cubic, tcp, dctcp, d2tcp, l2dct"),
        ("3", "is integer `3`, but must be text in quotes"),
    ] {
        refused(&wrapped("wvcc", "guest", guest), &["x.toml:15: scheme[0].params.guest: ", said]);
    }
}
