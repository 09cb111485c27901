use std::thread;

use super::mailbox::{END, Mailbox, mailboxes};

/// Messages of a sender arrive in their order.
fn note(seen: &mut [u64], &(sender, message): &(usize, u64)) {
    assert_eq!(message, seen[sender] + 1);
    seen[sender] = message;
}

/// Each process sends to all others at each of its times, little or much. A process that has waited for clocks finds all messages from before them,
/// in their order, each once, although the channels have no room for all of them.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test of threads")]
fn messages_have_arrived_when_the_clock_is_seen() {
    const LAST: u64 = 1_000;
    // Messages until a time.
    let until = |now: u64| now * 20 - now % 3 * 19;
    for processes in [2, 3, 5] {
        thread::scope(|scope| {
            for (own, mut mailbox) in
                mailboxes::<(usize, u64)>(vec![vec![60; processes]; processes]).into_iter().enumerate()
            {
                scope.spawn(move || {
                    let mut messages = vec![Vec::new(); processes];
                    let mut seen = vec![0; processes];
                    let all_others = || (0..processes).filter(|&other| other != own);
                    for now in 1..=LAST {
                        for receiver in all_others() {
                            let new = until(now - 1) + 1..=until(now);
                            messages[receiver].extend(new.map(|message| (own, message)));
                        }
                        while !mailbox.send(&mut messages) {
                            mailbox.receive(|message| note(&mut seen, message));
                        }
                        mailbox.advance(now);
                        // Not every time, so that there is no room now and then.
                        if now % 140 == 0 {
                            mailbox.wait(now, |message| note(&mut seen, message)).expect("no thread is gone");
                            all_others().for_each(|other| assert!(seen[other] >= until(now - 60)));
                        }
                    }
                    mailbox.advance(END);
                    mailbox.wait(END, |message| note(&mut seen, message)).expect("no thread is gone");
                    seen[own] = until(LAST);
                    assert_eq!(seen, vec![until(LAST); processes]);
                });
            }
        });
    }
}

/// Until when all processes are idle, by what a process learns that waits for nothing.
fn quiescent_until<T: Copy>(mailbox: &mut Mailbox<T>) -> u64 {
    mailbox.wait(0, |_| ()).expect("no thread is gone")
}

#[test]
fn idle_time_is_passed_over() {
    let mut three = mailboxes::<u32>(vec![vec![0; 3]; 3]);
    let [one, two, three] = &mut three[..] else { unreachable!() };
    one.announce_idle(7_000);
    two.announce_idle(5_000);
    assert_eq!(quiescent_until(one), 0, "one of them has announced nothing");
    three.announce_idle(9_000);
    assert_eq!(quiescent_until(one), 5_000);
    // It holds from then on, whatever they do.
    two.announce_busy();
    assert_eq!(quiescent_until(three), 5_000);
}

/// The look-ahead of each other process counts from its clock, or from the time until which all are idle if that is later.
#[test]
fn the_safe_time_is_the_least_clock_plus_look_ahead() {
    let look_aheads = vec![vec![0, 100, 5], vec![30, 0, 7], vec![2, 4, 0]];
    let mut mailboxes = mailboxes::<u32>(look_aheads);
    let safe_times =
        |mailboxes: &[Mailbox<u32>]| mailboxes.iter().map(Mailbox::safe_time).collect::<Vec<_>>();
    assert_eq!(safe_times(&mailboxes), [5, 7, 2]);
    mailboxes[2].advance(50);
    assert_eq!(safe_times(&mailboxes), [55, 30, 2]);
    mailboxes[1].advance(20);
    mailboxes[0].advance(10);
    assert_eq!(safe_times(&mailboxes), [55, 40, 12]);
    mailboxes.iter_mut().for_each(|mailbox| mailbox.announce_idle(1_000));
    assert_eq!(safe_times(&mailboxes), [1_005, 1_007, 1_002]);
    mailboxes.iter().for_each(|mailbox| mailbox.advance(END));
    assert_eq!(safe_times(&mailboxes), [END; 3]);
}

#[test]
fn no_time_is_passed_over_while_a_message_is_in_flight() {
    let mut both = mailboxes::<u32>(vec![vec![0; 2]; 2]);
    let (mut other, mut own) = (both.remove(1), both.remove(0));
    own.announce_busy();
    assert!(own.send(&mut [Vec::new(), vec![1]]));
    own.announce_idle(7_000);
    other.announce_idle(5_000);
    assert_eq!(quiescent_until(&mut own), 0, "it is not received");
    assert_eq!(quiescent_until(&mut other), 0, "it is received, but the notice is from before");
    own.announce_idle(7_000);
    assert_eq!(quiescent_until(&mut own), 0, "the notice is still from before");
    other.announce_idle(4_000);
    assert_eq!(quiescent_until(&mut own), 4_000);
}

#[test]
fn no_time_is_passed_over_while_a_process_is_busy() {
    let mut both = mailboxes::<u32>(vec![vec![0; 2]; 2]);
    let (mut other, mut own) = (both.remove(1), both.remove(0));
    own.announce_idle(7_000);
    own.announce_busy();
    other.announce_idle(5_000);
    assert_eq!(quiescent_until(&mut other), 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of threads")]
fn no_process_waits_for_one_that_panics() {
    let mut both = mailboxes::<()>(vec![vec![0; 2]; 2]);
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
