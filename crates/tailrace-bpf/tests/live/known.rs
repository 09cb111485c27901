//! What is known of flows: rules, what programs say of their sockets, and Karuna's three types by it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(not(feature = "programs"))]
#[test]
fn known() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use std::path::Path;

    use nix::errno::Errno;
    use tailrace_bpf::{EgressTagger, Rule, own_cgroup};
    use tailrace_core::{
        Bytes, Directive, Directives, Facts, FlowInfo, HostPolicy, Knowledge, Rate, Scheme, TagTable, Time,
        dscp_of,
    };
    use tailrace_linux::{check_rights, skip_test};
    use tailrace_schemes::karuna::Karuna;

    use crate::common::*;
    use crate::frames::{Frames, Model, Tap};
    use crate::teller::{Cgroup, Said, Teller, own_c_program};

    const ALL: Knowledge = Knowledge { sizes: true, deadlines: true };

    /// Karuna's policy at a host, with these thresholds.
    fn karuna(splitting: [u64; 3], sieving: [u64; 3]) -> impl HostPolicy {
        let [splitting, sieving] = [splitting, sieving].map(|of| of.map(|bytes| format!("{bytes}B")));
        let text = format!(
            "port = {{ queues = 5 }}\nthresholds = {{ splitting = {splitting:?}, sieving = {sieving:?} }}"
        );
        let facts = Facts::new(2, Rate::from_gbps(10), Time::from_us(100), 2);
        Karuna::new(toml::from_str(&text).unwrap(), &facts).unwrap().host()
    }

    fn rule(port: u16, size: u64, deadline: Option<Time>) -> Rule {
        let size = (size > 0).then_some(Bytes::new(size));
        Rule { cgroup: None, port: Some(port), slice: None, size, deadline }
    }

    /// What the policy itself says of flows that a rule speaks of.
    fn asked(policy: &impl HostPolicy, rules: &[Rule], port: u16) -> Directive {
        let rule = rules.iter().find(|rule| rule.port == Some(port));
        let (size, deadline) = (rule.and_then(|rule| rule.size), rule.and_then(|rule| rule.deadline));
        policy.directive(&FlowInfo {
            id: 1,
            src: 0,
            dst: 1,
            size,
            start: Time::ZERO,
            deadline,
            slice: 0,
            task: 0,
        })
    }

    fn may() -> bool {
        check_rights("this test").map_err(skip_test).is_ok()
    }

    #[test]
    fn every_frame_is_what_karunas_policy_says_of_its_type() {
        if !may() {
            return;
        }
        let policies = [
            karuna([1_000, 5_000, 90_000], [2_000, 8_000, 50_000]),
            karuna([10, 20, 30], [900, 1_800, 2_700]),
        ];
        // Ports of the flows of `Frames` go up from 1000.
        let (some, day) = (Some(Time::from_ms(60_000)), Time::from_ms(3_600_000));
        let rules = [
            (0..24)
                .step_by(3)
                .map(|flow| rule(1_000 + flow, 1_000 * u64::from(flow) + 1, None))
                .collect::<Vec<_>>(),
            (0..24).step_by(2).map(|flow| rule(1_000 + flow, 5_000 + u64::from(flow % 3), some)).collect(),
            vec![],
            [(1_001, 90_000, None), (1_002, 90_001, None), (1_003, 7, Some(day))]
                .map(|(port, size, at)| rule(port, size, at))
                .into(),
        ];
        let given = |policy: &_, rules: &[Rule]| (Directives::of(policy, ALL, 0).unwrap(), rules.to_vec());
        let (first, none) = given(&policies[0], &[]);
        let count =
            std::env::var("TAILRACE_FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
        // Frames that are no longer what they were are of flows of their own, and all must find room.
        let mut tagger = EgressTagger::new(4 * count as u32, &first, &none).unwrap();
        let (mut frames, mut model) = (Frames::new(2), Model::default());
        for number in 0..count {
            // Policies and rules change while flows go on.
            let turn = number / 5_000;
            let (policy, rules) = (&policies[turn / 4 % 2], &rules[turn % 4]);
            if number % 5_000 == 0 {
                let (directives, rules) = given(policy, rules);
                tagger.set(&directives, &rules).unwrap();
            }
            let frame = frames.next();
            let expected = model.tagged(&frame, |port| asked(policy, rules, port));
            let (found, _) = tagger.try_on(&frame, 1).unwrap();
            assert_eq!(found, expected, "frame {number}: {frame:02x?}");
        }
        assert!(
            model.priorities[..5].iter().all(|&found| found > count as u64 / 100),
            "{:?}",
            model.priorities
        );
        assert_eq!(model.priorities[5..], [0; 3]);
    }

    #[test]
    fn a_cgroup_that_the_rules_do_not_name_is_refused() {
        let Some(Pair { a, b: _b }) = pair() else { return };
        let (Some(named), Some(other)) = (Cgroup::new("named"), Cgroup::new("other")) else { return };
        let slices = Directives::of(&Slices, ALL, 2).unwrap();
        let rules =
            |path: &Path| Rule { cgroup: Some(own_cgroup(path).unwrap()), port: None, ..rule(0, 0, None) };
        let size = Said { size: 5_000, ..Said::default() };
        let result = |cgroup: &Cgroup, said: Said| {
            let mut teller = Teller::start(&a, cgroup);
            teller.open();
            teller.tell(said)
        };
        assert_eq!(result(&named, size), Err(Errno::ENOPROTOOPT), "there is no agent");
        let mut tagger =
            a.inside(|| Ok(EgressTagger::new(64, &slices, &[rules(&named.path)]).unwrap())).unwrap();
        assert_eq!(result(&named, size), Ok(()));
        assert_eq!(result(&other, size), Err(Errno::EPERM));
        assert_eq!(result(&named, Said { deadline_ns: 5, ..Said::default() }), Err(Errno::EINVAL), "no size");
        assert_eq!(result(&named, Said { slice: 3, ..size }), Err(Errno::EINVAL), "there are two");
        assert_eq!(result(&named, Said { slice: 2, ..size }), Ok(()));
        let mut short = Teller::start(&a, &named);
        short.open();
        assert_eq!(short.tell_bytes(&[1; 31]), Err(Errno::EINVAL));
        short.say(size).unwrap();
        let mut python = Teller::start(&a, &other);
        python.open();
        assert_eq!(python.say(size), Err(Errno::EPERM));
        // Sockets of other network namespaces are none of its business.
        let mut elsewhere = Teller::start(&_b, &other);
        elsewhere.open();
        assert_eq!(elsewhere.say(size), Err(Errno::ENOPROTOOPT));
        let counts = tagger.counts().unwrap();
        assert_eq!((counts.told, counts.refused), (3, 5));
        // Who has a slice by a rule is of no other one.
        let given = Rule { slice: Some(1), ..rules(&named.path) };
        tagger.set(&slices, &[given]).unwrap();
        assert_eq!(result(&named, Said { slice: 2, ..size }), Err(Errno::EPERM));
        assert_eq!(result(&named, Said { slice: 1, ..size }), Ok(()));
        tagger.set(&slices, &[rules(&other.path)]).unwrap();
        assert_eq!(result(&named, size), Err(Errno::EPERM));
        drop(tagger);
        assert_eq!(result(&named, size), Err(Errno::ENOPROTOOPT), "it is gone without a trace");
    }

    /// A queue for each slice.
    struct Slices;

    impl HostPolicy for Slices {
        fn directive(&self, flow: &FlowInfo) -> Directive {
            Directive::tagged(TagTable::flat(flow.slice as u8))
        }
    }

    #[test]
    fn what_a_program_says_is_on_the_wire() {
        let Some(Pair { a, b }) = pair() else { return };
        let Some(cgroup) = Cgroup::new("says") else { return };
        let policy = karuna([10_000, 50_000, 200_000], [20_000, 60_000, 100_000]);
        let directives = Directives::of(&policy, ALL, 0).unwrap();
        let rules =
            [Rule { cgroup: Some(own_cgroup(&cgroup.path).unwrap()), port: None, ..rule(0, 0, None) }];
        let attach = || {
            let mut tagger = EgressTagger::new(64, &directives, &rules).unwrap();
            ip("link set eth0 gso_max_segs 1");
            tagger.attach(nix::net::if_::if_nametoindex("eth0")?).unwrap();
            Ok(tagger)
        };
        let tagger = a.inside(attach).unwrap();
        for (to, port) in [(B4, 90), (B6, 91)] {
            let tap = b.inside(|| Ok(Tap::new())).unwrap();
            let sink = Sink::start(&b, address(to, port));
            let mut teller = Teller::start(&a, &cgroup);
            teller.open_for(address(to, port));
            // Of the connection before it is open; then of each message, in turn; and of one with a deadline that passes.
            let deadline_ns = 60_000_000_000;
            teller.tell(Said { size: 30_000, ..Said::default() }).unwrap();
            teller.connect(address(to, port));
            teller.send(30_000);
            teller.say(Said { size: 150_000, deadline_ns, ..Said::default() }).unwrap();
            teller.send(150_000);
            teller.tell(Said::default()).unwrap();
            teller.send(70_000);
            teller.tell(Said { size: 300_000, ..Said::default() }).unwrap();
            teller.send(40_000);
            teller.tell(Said { size: 5_000, deadline_ns: 100_000_000, ..Said::default() }).unwrap();
            teller.send(3_000);
            std::thread::sleep(std::time::Duration::from_millis(150));
            teller.send(2_000);
            drop(teller);
            sink.ended(295_000);
            let size = |size: u64| asked(&policy, &[rule(1, size, None)], 1).tags;
            let messages = [
                (0, 30_000, size(30_000)),
                (30_000, 180_000, TagTable::FLAT),
                (180_000, 250_000, asked(&policy, &[], 1).tags),
                (250_000, 290_000, size(300_000)),
                (290_000, 293_000, TagTable::FLAT),
                (293_000, 295_000, size(5_000)),
            ];
            let seen = tap.segments(port);
            for (from, until, tags) in messages {
                let of = seen.iter().filter(|(before, _)| (from..until).contains(before)).collect::<Vec<_>>();
                assert!(!of.is_empty(), "{from}");
                for (before, class) in of {
                    let expected = dscp_of(usize::from(tags.priority(before - from)));
                    assert_eq!(class >> 2, expected, "port {port}, byte {before} of the message from {from}");
                }
            }
        }
        assert_eq!(tagger.counts().unwrap().told, 10);
    }

    #[test]
    fn the_header_is_c_that_compiles_and_is_heard() {
        let Some(Pair { a, b: _b }) = pair() else { return };
        let Some(cgroup) = Cgroup::new("header") else { return };
        let place = tempfile::tempdir().unwrap();
        let Some(program) = own_c_program(place.path()) else { return };
        let run = || a.inside(|| cgroup.command(&program).output()).unwrap();
        let said = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
        assert_eq!(said(run()), format!("-1 {}\n", Errno::ENOPROTOOPT as i32));
        let rules =
            [Rule { cgroup: Some(own_cgroup(&cgroup.path).unwrap()), port: None, ..rule(0, 0, None) }];
        let same = Directives::same(Directive::tagged(TagTable::FLAT));
        let _tagger = a.inside(|| Ok(EgressTagger::new(64, &same, &rules).unwrap())).unwrap();
        assert_eq!(said(run()), "0 0\n");
    }
}
