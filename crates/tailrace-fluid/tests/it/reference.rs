//! The fluid models against JiTCDDE, another solver. Its numbers are those that
//! `python benches/fluid/reference.py` prints (JiTCDDE 1.8.3, symengine 0.15.0).

use tailrace_fluid::{Law, Model};

const WINDOWS: [f64; 4] = [150.0, 40.0, 90.0, 20.0];

/// Part of the duration, mean windows, mean queue, longest queue.
type Reference<'a> = ((f64, f64), &'a [f64], f64, f64);

fn compare(model: &Model, references: &[Reference<'_>]) {
    let run = model.solve().expect("solvable");
    for &((from, to), windows, mean_queue, max_queue) in references {
        let got = run.summary(from * model.duration, to * model.duration).expect("samples");
        let near = |got: f64, wanted: f64, tolerance: f64| (got - wanted).abs() <= tolerance * wanted;
        let all_near = got.mean_windows.iter().zip(windows).all(|(&got, &wanted)| near(got, wanted, 1e-4));
        assert!(all_near, "{from} to {to}: {:?} instead of {windows:?}", got.mean_windows);
        assert!(near(got.mean_queue, mean_queue, 5e-4), "{from} to {to}: {got:?}, not {mean_queue}");
        assert!(near(got.max_queue, max_queue, 2e-4), "{from} to {to}: {got:?}, not {max_queue}");
    }
}

#[test]
fn wvcc_in_the_authors_matlab_setting() {
    compare(
        &Model::uranus_matlab(WINDOWS.to_vec()),
        &[
            ((0.1, 0.2), &[147.663, 82.811, 148.738, 116.581], 2.614, 12.628),
            ((0.5, 1.0), &[59.813, 97.368, 148.621, 189.601], 2.44, 12.126),
        ],
    );
}

#[test]
fn acdc_with_the_priorities_of_the_paper() {
    let law = Law::Acdc { priorities: vec![0.25, 0.25, 0.5, 0.75] };
    let model = Model::new(law, 5000.0, 0.1, 10.0);
    compare(
        &Model { duration: 100.0, initial_windows: WINDOWS.to_vec(), ..model },
        &[
            ((0.1, 0.2), &[145.214, 100.536, 132.141, 108.386], 2.108, 14.253),
            ((0.5, 1.0), &[106.852, 106.5, 124.378, 147.958], 2.162, 14.254),
        ],
    );
}

#[test]
fn dctcp_at_ten_gigabits() {
    let model = Model::new(Law::Dctcp { flows: 3 }, 1e10 / 12e3, 1e-4, 65.0);
    compare(
        &Model { duration: 0.2, initial_windows: vec![60.0, 20.0, 5.0], ..model },
        &[
            ((0.1, 0.2), &[48.48, 46.859, 46.252], 58.317, 68.367),
            ((0.5, 1.0), &[47.23, 47.23, 47.229], 58.361, 68.367),
        ],
    );
}
