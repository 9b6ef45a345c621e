//! What the counts promise: exact windows, one count for all processes, no refill by a clock or by damage.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;

const MINUTE: Window = Window { most: 10, span: 60_000 };

/// A state folder and a clock that the test sets: milliseconds up, wall clock, start of the machine.
struct Place {
    _folder: tempfile::TempDir,
    state: StateDir,
    clock: Arc<[AtomicU64; 3]>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        Self { _folder: folder, state, clock: Arc::new([0.into(), 1_000_000_000.into(), 1.into()]) }
    }

    fn at(&self, up: Millis) {
        self.clock[0].store(up, Ordering::Relaxed);
    }

    /// As another process would open it.
    fn open(&self) -> Counts {
        let clock = Arc::clone(&self.clock);
        let read = move || {
            let [wall, up, boot] = [1, 0, 2].map(|at: usize| clock[at].load(Ordering::Relaxed));
            Tick { wall, up, boot }
        };
        Counts::with_ticks(&self.state, Ticks::new(read)).unwrap()
    }

    fn file(&self, folder: &str) -> std::path::PathBuf {
        std::fs::read_dir(self.state.path().join(folder)).unwrap().next().unwrap().unwrap().path()
    }
}

fn call(counts: &Counts, key: &str, window: Window) -> io::Result<Vec<Millis>> {
    counts.call([(key, &[window])]).map(|([ages], _)| ages)
}

#[test]
fn a_call_is_counted_for_every_process_and_leaves_after_its_span() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    for n in 0..10 {
        place.at(n * 1000);
        let counts = if n % 2 == 0 { &one } else { &two };
        assert_eq!(call(counts, "p", MINUTE).unwrap(), Vec::<u64>::new(), "call {n}");
    }
    place.at(9_500);
    assert_eq!(call(&one, "p", MINUTE).unwrap(), vec![9_500; 10], "the eleventh waits for the first to leave");
    assert_eq!(call(&two, "q", MINUTE).unwrap(), Vec::<u64>::new(), "another key has its own count");
    assert_eq!(call(&place.open(), "p", MINUTE).unwrap().len(), 10, "a new session and a new process count on");
}

#[test]
fn a_call_exactly_a_span_ago_is_out() {
    let place = Place::new();
    let counts = place.open();
    let one = Window { most: 1, span: 60_000 };
    place.at(5);
    assert!(call(&counts, "p", one).unwrap().is_empty());
    place.at(60_004);
    assert_eq!(call(&counts, "p", one).unwrap(), [59_999]);
    place.at(120_004);
    assert!(call(&counts, "p", one).unwrap().is_empty());
}

#[test]
fn a_client_that_tries_again_too_early_passes_as_often_as_it_may() {
    let place = Place::new();
    let counts = place.open();
    let mut passed = Vec::new();
    for at in (0..135_000).step_by(250) {
        place.at(at);
        if call(&counts, "p", MINUTE).unwrap().is_empty() {
            passed.push(at);
        }
    }
    let expected: Vec<Millis> = [0, 60_000, 120_000].iter().flat_map(|from| (0..10).map(move |n| from + n * 250)).collect();
    assert_eq!(passed, expected);
}

#[test]
fn a_call_that_one_key_refuses_is_counted_under_none() {
    let place = Place::new();
    let counts = place.open();
    let (of_all, of_tool) = (Window { most: 3, span: 60_000 }, Window { most: 1, span: 60_000 });
    let both = || counts.call([("all", &[of_all]), ("tool", &[of_tool])]).unwrap().0;
    let none = || [Vec::<Millis>::new(), Vec::new()];
    assert_eq!(both(), none());
    for _ in 0..5 {
        assert_eq!(both(), [vec![], vec![0]], "the tool's window is full");
    }
    assert!((0..2).all(|_| call(&counts, "all", of_all).unwrap().is_empty()), "two places are left for other tools");
    assert_eq!(both(), [vec![0; 3], vec![]]);
    place.at(60_000);
    assert_eq!(both(), none());
    let nothing = Window { most: 0, span: 60_000 };
    assert_eq!(counts.take("none", nothing).unwrap(), Some(60_000));
    assert_eq!(counts.call([("other", &[of_tool]), ("none", &[nothing])]).unwrap().0, none());
    assert!(call(&counts, "other", of_tool).unwrap().is_empty(), "a tool that nobody may call takes no place");
}

#[test]
fn a_full_window_ends_after_a_restart_with_a_clock_set_back() {
    let place = Place::new();
    let one = Window { most: 1, span: 60_000 };
    place.at(5_000);
    assert!(call(&place.open(), "p", one).unwrap().is_empty());
    place.clock[1].store(0, Ordering::Relaxed);
    place.clock[2].store(2, Ordering::Relaxed);
    for up in (0..60_000).step_by(10_000) {
        place.at(up);
        assert_eq!(call(&place.open(), "p", one).unwrap().len(), 1, "{up}");
    }
    place.at(60_000);
    assert!(call(&place.open(), "p", one).unwrap().is_empty());
}

#[test]
fn a_clock_set_back_or_forward_and_a_restart_free_nothing() {
    let place = Place::new();
    let counts = place.open();
    let one = Window { most: 1, span: 60_000 };
    assert!(call(&counts, "p", one).unwrap().is_empty());
    for wall in [0, 5_000_000_000] {
        place.clock[1].store(wall, Ordering::Relaxed);
        place.at(1_000);
        assert_eq!(call(&counts, "p", one).unwrap().len(), 1, "the wall clock says {wall}");
    }
    place.clock[1].store(0, Ordering::Relaxed);
    place.clock[2].store(2, Ordering::Relaxed);
    place.at(0);
    assert_eq!(call(&place.open(), "p", one).unwrap().len(), 1, "restarted with a clock set back");
}

#[test]
fn many_calls_in_a_long_window_are_bounded_in_space_and_never_counted_too_low() {
    let place = Place::new();
    let counts = place.open();
    let hour = Window { most: 9_000, span: 3_600_000 };
    for n in 0..9_000 {
        place.at(n * 10);
        assert!(call(&counts, "p", hour).unwrap().is_empty(), "call {n}");
    }
    assert_eq!(call(&counts, "p", hour).unwrap().len(), 9_000);
    assert!(std::fs::metadata(place.file("rates")).unwrap().len() <= 128 + 4096 * 16);
}

#[test]
fn a_ring_cut_at_any_byte_or_damaged_anywhere_never_counts_too_low() {
    let place = Place::new();
    let counts = place.open();
    for n in 0..10 {
        place.at(n * 1000);
        call(&counts, "p", MINUTE).unwrap();
    }
    let path = place.file("rates");
    let whole = std::fs::read(&path).unwrap();
    place.at(10_000);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        let full = call(&place.open(), "p", MINUTE).unwrap();
        assert_eq!(full.len(), 10, "byte {at}");
    }
    for length in 1..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        call(&place.open(), "p", MINUTE).unwrap();
    }
}

#[test]
fn a_budget_is_reserved_before_and_settled_after_for_all_processes() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    let ask = Ask { exactly: [60, 0, 0], at_most: [0; 3], budget: [100, 100, 100] };
    assert_eq!(one.reserve("p", &ask).unwrap(), Standing { reserved: [60, 0, 0], ..Standing::default() });
    assert_eq!(two.reserve("p", &ask).unwrap().used, [60, 0, 0], "the second sees what the first reserved");
    two.settle("p", [60, 0, 0], [0; 3]).unwrap();
    one.settle("p", [60, 0, 0], [25, 0, 0]).unwrap();
    let rest = Ask { exactly: [1, 0, 0], at_most: [1000, 0, 0], budget: [100, 100, 100] };
    assert_eq!(two.reserve("p", &rest).unwrap(), Standing { used: [25, 0, 0], reserved: [75, 0, 0], suspended: false });
    place.at(3_600_000 - 1);
    assert_eq!(two.reserve("p", &Ask::default()).unwrap().used, [100, 0, 0]);
    place.at(3_600_000);
    assert_eq!(two.reserve("p", &Ask::default()).unwrap().used, [0; 3]);
}

#[test]
fn denials_suspend_a_principal_everywhere_until_it_is_resumed_or_ten_minutes_passed() {
    let place = Place::new();
    let (one, two) = (place.open(), place.open());
    let breaker = Window { most: 10, span: 60_000 };
    for n in 0..9 {
        assert!(!one.deny("p", breaker).unwrap(), "denial {n}");
    }
    assert!(two.deny("p", breaker).unwrap());
    let suspended = |counts: &Counts| counts.reserve("p", &Ask::default()).unwrap().suspended;
    assert!(suspended(&one) && suspended(&place.open()));
    assert!(!one.reserve("q", &Ask::default()).unwrap().suspended);
    assert!(two.resume("p").unwrap() && !suspended(&one) && !two.resume("p").unwrap());
    assert!((0..10).any(|_| one.deny("p", breaker).unwrap()));
    place.at(599_999);
    assert!(suspended(&two));
    place.at(600_000);
    assert!(!suspended(&two));
}

#[test]
fn an_account_damaged_at_any_byte_is_the_one_before_or_used_up() {
    let place = Place::new();
    let counts = place.open();
    let ask = Ask { exactly: [10, 0, 0], at_most: [0; 3], budget: [100, 100, 100] };
    counts.reserve("p", &ask).unwrap();
    counts.reserve("p", &ask).unwrap();
    let path = place.file("accounts");
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).filter(|at| whole[*at] != 0 || at % 64 == 0) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        let [used, ..] = place.open().reserve("p", &Ask::default()).unwrap().used;
        assert!(used == 20 || used == 10, "byte {at}: {used}");
    }
    for length in (1..whole.len()).filter(|length| length % 4184 < 120 || length % 61 == 0) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let [used, ..] = place.open().reserve("p", &Ask::default()).unwrap().used;
        assert!(used >= 10, "cut to {length}: {used}");
    }
    std::fs::write(&path, vec![7; 100]).unwrap();
    assert!(place.open().reserve("p", &ask).unwrap().used[0] > 100, "nothing is known, so nothing is left");
    place.at(3_600_000);
    assert_eq!(place.open().reserve("p", &ask).unwrap().used[0], 0);
}

#[test]
fn racing_threads_and_processes_never_pass_a_window_together() {
    let place = Place::new();
    let counts: Vec<Counts> = (0..4).map(|_| place.open()).collect();
    let fitted: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..16)
            .map(|n| {
                let counts = &counts[n % 4];
                scope.spawn(move || (0..5).filter(|_| call(counts, "p", MINUTE).unwrap().is_empty()).count())
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(fitted, 10);
}

#[test]
fn a_file_that_was_swept_away_is_counted_in_no_more() {
    let place = Place::new();
    let one = place.open();
    let window = Window { most: 2, span: 60_000 };
    call(&one, "p", window).unwrap();
    std::fs::remove_file(place.file("rates")).unwrap();
    call(&one, "p", window).unwrap();
    call(&one, "p", window).unwrap();
    assert_eq!(call(&place.open(), "p", window).unwrap().len(), 2, "both count in the same new file");
}

#[test]
fn a_lock_that_is_never_given_refuses_the_call() {
    let place = Place::new();
    let counts = place.open();
    call(&counts, "p", MINUTE).unwrap();
    let held = std::fs::File::open(place.file("rates")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(call(&counts, "p", MINUTE).unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
    drop(held);
    assert!(call(&counts, "p", MINUTE).unwrap().is_empty());
}

#[test]
fn what_is_no_plain_file_is_not_counted_in() {
    let place = Place::new();
    let counts = place.open();
    call(&counts, "p", MINUTE).unwrap();
    let path = place.file("rates");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(call(&place.open(), "p", MINUTE).is_err());
    // A hole in the middle is as strict as can be.
    std::fs::remove_file(&path).unwrap();
    let counts = place.open();
    (0..10).for_each(|n| {
        place.at(n * 1000);
        call(&counts, "p", MINUTE).unwrap();
    });
    std::fs::File::options().write(true).open(&path).unwrap().write_all_at(&[0; 64], 128).unwrap();
    place.at(60_000);
    assert_eq!(call(&counts, "p", MINUTE).unwrap().len(), 10);
}

proptest! {
    #[test]
    fn the_ring_agrees_with_a_list_of_all_calls(gaps in prop::collection::vec(0_u64..9_000, 1..60), most in 1_u64..9) {
        let place = Place::new();
        let counts = place.open();
        let window = Window { most, span: 20_000 };
        let (mut now, mut all) = (0, Vec::<u64>::new());
        for gap in gaps {
            now += gap;
            place.at(now);
            let inside = all.iter().filter(|at| now - **at < window.span).count() as u64;
            let full = call(&counts, "p", window).unwrap();
            prop_assert_eq!(inside >= most, !full.is_empty());
            if inside >= most {
                let freed = all[all.len() - usize::try_from(most).unwrap()];
                prop_assert_eq!(full, vec![now - freed; usize::try_from(most).unwrap()]);
            }
            // A call that does not fit takes no place.
            if inside < most {
                all.push(now);
            }
        }
    }

    #[test]
    fn a_ring_from_which_calls_were_taken_back_agrees_with_a_list_without_them(
        steps in prop::collection::vec((0_u64..3_000, prop::option::of(any::<prop::sample::Index>())), 1..80),
        many in any::<bool>(),
    ) {
        let place = Place::new();
        let counts = place.open();
        // A window of more calls than a ring has slots puts neighbours into one slot, under the later time.
        let window = Window { most: if many { 5_000 } else { 200 }, span: 3_600_000 };
        let grain = if many { window.span.div_ceil(4_096) } else { 0 };
        let (mut now, mut all) = (0, Vec::<(u64, Counted)>::new());
        for (gap, back) in steps {
            now += gap;
            place.at(now);
            let (_, counted) = counts.call([("p", &[window])]).unwrap();
            all.push((now, counted));
            if let Some(back) = back {
                all.remove(back.index(all.len())).1.take_back().unwrap();
            }
            for most in 1..=all.len() as u64 {
                // A window that is full only asks.
                let ([ages], counted) = counts.call([("p", &[Window { most, span: 3_600_000 }])]).unwrap();
                counted.take_back().unwrap();
                let exact = now - all[all.len() - usize::try_from(most).unwrap()].0;
                let age = *ages.first().expect("the window is full");
                prop_assert!(age <= exact && exact <= age + grain, "{most}: {age} for {exact}");
            }
        }
        let ([ages], _) = place.open().call([("p", &[Window { most: all.len() as u64 + 1, span: 3_600_000 }])]).unwrap();
        prop_assert!(ages.is_empty(), "another process counts the same");
    }
}
