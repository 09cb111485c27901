use std::thread;

use super::mail::{END, Mail, mail};

/// Letters of a writer come in their order.
fn note(seen: &mut [u64], &(writer, letter): &(usize, u64)) {
    assert_eq!(letter, seen[writer] + 1);
    seen[writer] = letter;
}

/// Each part writes at each of its times to all others, little or much. Whoever has waited for clocks finds all letters of before, in their order, each once, although there is no room for all of them.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test of threads")]
fn letters_have_come_when_the_clock_says_so() {
    const LAST: u64 = 1_000;
    // Letters until a time.
    let until = |now: u64| now * 20 - now % 3 * 19;
    for parts in [2, 3, 5] {
        thread::scope(|scope| {
            for (own, mut mail) in mail::<(usize, u64)>(vec![vec![60; parts]; parts]).into_iter().enumerate()
            {
                scope.spawn(move || {
                    let mut letters = vec![Vec::new(); parts];
                    let mut seen = vec![0; parts];
                    let all_others = || (0..parts).filter(|&other| other != own);
                    for now in 1..=LAST {
                        for reader in all_others() {
                            let news = until(now - 1) + 1..=until(now);
                            letters[reader].extend(news.map(|letter| (own, letter)));
                        }
                        while !mail.send(&mut letters) {
                            mail.read(|letter| note(&mut seen, letter));
                        }
                        mail.advance(now);
                        // Not every time, so that there is no room now and then.
                        if now % 140 == 0 {
                            mail.wait(now, |letter| note(&mut seen, letter)).expect("nobody is gone");
                            all_others().for_each(|other| assert!(seen[other] >= until(now - 60)));
                        }
                    }
                    mail.advance(END);
                    mail.wait(END, |letter| note(&mut seen, letter)).expect("nobody is gone");
                    seen[own] = until(LAST);
                    assert_eq!(seen, vec![until(LAST); parts]);
                });
            }
        });
    }
}

/// Until when nobody has anything to do, as a part hears that waits for nothing.
fn quiet<T: Copy>(mail: &mut Mail<T>) -> u64 {
    mail.wait(0, |_| ()).expect("nobody is gone")
}

#[test]
fn time_in_which_nobody_has_anything_to_do_is_passed_over() {
    let mut three = mail::<u32>(vec![vec![0; 3]; 3]);
    let [one, two, three] = &mut three[..] else { unreachable!() };
    one.rest(7_000);
    two.rest(5_000);
    assert_eq!(quiet(one), 0, "one of them has not said anything");
    three.rest(9_000);
    assert_eq!(quiet(one), 5_000);
    // It holds from then on, whatever they do.
    two.stir();
    assert_eq!(quiet(three), 5_000);
}

/// Each other part counts from its own clock, or from when nobody had anything to do until then, and no farther than is known
/// of it.
#[test]
fn a_part_goes_on_by_the_look_ahead_of_each_of_the_others() {
    let ahead = vec![vec![0, 100, 5], vec![30, 0, 7], vec![2, 4, 0]];
    let mut mail = mail::<u32>(ahead);
    let limits = |mail: &[Mail<u32>]| mail.iter().map(Mail::limit).collect::<Vec<_>>();
    assert_eq!(limits(&mail), [5, 7, 2]);
    mail[2].advance(50);
    assert_eq!(limits(&mail), [55, 30, 2]);
    mail[1].advance(20);
    mail[0].advance(10);
    assert_eq!(limits(&mail), [55, 40, 12]);
    mail.iter_mut().for_each(|mail| mail.rest(1_000));
    assert_eq!(limits(&mail), [1_005, 1_007, 1_002]);
    mail.iter().for_each(|mail| mail.advance(END));
    assert_eq!(limits(&mail), [END; 3]);
}

#[test]
fn nothing_is_passed_over_while_a_letter_is_on_its_way() {
    let mut both = mail::<u32>(vec![vec![0; 2]; 2]);
    let (mut other, mut own) = (both.remove(1), both.remove(0));
    own.stir();
    assert!(own.send(&mut [Vec::new(), vec![1]]));
    own.rest(7_000);
    other.rest(5_000);
    assert_eq!(quiet(&mut own), 0, "it is not read");
    assert_eq!(quiet(&mut other), 0, "it is read, but the word is from before");
    own.rest(7_000);
    assert_eq!(quiet(&mut own), 0, "the word is still from before");
    other.rest(4_000);
    assert_eq!(quiet(&mut own), 4_000);
}

#[test]
fn nobody_rests_who_has_something_to_do() {
    let mut both = mail::<u32>(vec![vec![0; 2]; 2]);
    let (mut other, mut own) = (both.remove(1), both.remove(0));
    own.rest(7_000);
    own.stir();
    other.rest(5_000);
    assert_eq!(quiet(&mut other), 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of threads")]
fn nobody_waits_for_who_panics() {
    let mut both = mail::<()>(vec![vec![0; 2]; 2]);
    let (other, mut own) = (both.remove(1), both.remove(0));
    thread::scope(|scope| {
        let waits = scope.spawn(move || own.wait(1, |&()| ()));
        let falls = scope.spawn(move || {
            let _there = other;
            panic!("as it must");
        });
        assert!(falls.join().is_err());
        assert_eq!(waits.join().ok(), Some(None));
    });
}
