use crate::setup::*;
use crate::sharing::*;
use tailrace_core::Time;
#[test]
fn explore() {
    for n in [2u16, 3, 4, 5, 6, 8] {
        for stagger_us in [0u64, 50, 137, 1000, 3333] {
            let mut last: Vec<u64> = vec![0; n as usize];
            let mut line = String::new();
            for t in [200u64, 400, 800, 1600] {
                let fab = dumbbell(n);
                let flows = (0..n)
                    .map(|i| flow(i, n + i, 1 << 40, Time::from_us(stagger_us) * u64::from(i)))
                    .collect();
                let setup = Setup { horizon: Some(Time::from_ms(t)), ..Setup::new(fab, flows) };
                let run = setup.run("dctcp", &std::env::var("P").unwrap_or_default());
                let now: Vec<u64> = (n..2 * n)
                    .map(|h| {
                        run.ports[setup.fabric.port_named(&format!("right->host{h}")).unwrap() as usize]
                            .sent
                            .bytes
                    })
                    .collect();
                let d: Vec<u64> = now.iter().zip(&last).map(|(a, b)| a - b).collect();
                let sum: u64 = d.iter().sum();
                line += &format!(
                    " | {t}: {}",
                    d.iter()
                        .map(|x| format!("{:.2}", *x as f64 * n as f64 / sum as f64))
                        .collect::<Vec<_>>()
                        .join(" ")
                );
                last = now;
            }
            eprintln!("n {n} stagger {stagger_us}{line}");
        }
    }
}
