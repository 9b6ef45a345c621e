//! A pool without processes: what it wants, and what comes of what it hears.

use super::*;
use crate::sandbox::jail::kind::Kind;
use crate::sandbox::jail::order::Asked;

pub(super) fn order() -> Order {
    let interpreter = serde_json::json!({
        "program": "/usr/bin/python3", "argv0": "python3", "version": "3.11.2", "needs": [], "links": [], "module_path": [],
    });
    let plan = serde_json::from_value(serde_json::json!({
        "ground": "Whole", "interpreter": interpreter, "limits": crate::sandbox::jail::spec::Limits::default(), "env": {}, "require": [],
        "roots": [], "preload": [], "prelude": null, "network": false, "command": [],
    }));
    let asked = Asked {
        wall: Duration::from_secs(9),
        start_dir: "/tmp".to_owned(),
        masked: Vec::new(),
        fresh: false,
        ahead: false,
        profile: "p".to_owned(),
    };
    Order { kind: Kind::new(plan.unwrap()).unwrap(), asked }
}

/// A pool that was quiet for long, with cells that said that they stand; the channels of their other sides.
pub(super) fn quiet(cells: i32) -> (Pool, Vec<OwnedFd>) {
    let order = order();
    let mut pool = Pool::new(&order, true);
    pool.last_call = Instant::now().checked_sub(Duration::from_secs(9)).unwrap();
    let mut others = Vec::new();
    for number in 1..=cells {
        let (ours, theirs) = order::channel().unwrap();
        pool.add_cell(Pid::from_raw(ABSENT + number).unwrap(), ours, Remains::default());
        order::send(theirs.as_fd(), &Word::Built(false), &[]).unwrap();
        others.push(theirs);
    }
    (pool, others)
}

pub(super) fn step(pool: &mut Pool) -> Step {
    let heard = Heard::wait(pool.channels(), pool.ears(), Some(Duration::ZERO));
    pool.hear(&heard);
    pool.step()
}

/// Beyond every number that a process can have (`proc_sys_kernel(5)`).
pub(super) const ABSENT: i32 = 1 << 30;

pub(super) fn with_interpreter(pool: &mut Pool) -> OwnedFd {
    let (channel, theirs) = order::channel().unwrap();
    pool.add_zygote(Zygote::new(Pid::from_raw(ABSENT).unwrap(), channel));
    order::send(theirs.as_fd(), &Word::Seated, &[]).unwrap();
    theirs
}

#[test]
fn without_a_call_that_an_interpreter_may_wait_for_two_jails_stand_empty_and_nothing_more() {
    let (mut pool, _others) = quiet(0);
    assert!(matches!(step(&mut pool), Step::Cell));
    let (mut pool, _others) = quiet(2);
    for _ in 0..2 {
        assert!(matches!(step(&mut pool), Step::None));
    }
    assert_eq!((pool.count(State::Empty), pool.due()), (2, Some(pool.last_call + IDLE)));
}

#[test]
fn what_no_call_came_for_ends_and_what_one_waits_for_does_not() {
    let (mut pool, _others) = quiet(2);
    step(&mut pool);
    let late = pool.last_call + IDLE;
    assert!(!pool.is_idle(late.checked_sub(Duration::from_nanos(1)).unwrap()) && pool.is_idle(late));
    pool.call_ahead();
    assert!(!pool.is_idle(late));
    assert!(matches!(step(&mut pool), Step::None), "the processor is left to a call that comes right behind");
    pool.last_call = Instant::now().checked_sub(QUIET).unwrap();
    assert!(matches!(pool.step(), Step::Zygote));
}

#[test]
fn an_interpreter_comes_into_as_many_jails_as_are_to_wait_and_two_stay_empty() {
    let (mut pool, others) = quiet(5);
    pool.warm = true;
    assert!(matches!(step(&mut pool), Step::Zygote));
    let told = with_interpreter(&mut pool);
    assert!(matches!(step(&mut pool), Step::None));
    assert_eq!((pool.count(State::Seating), pool.count(State::Empty)), (AT_ONCE, 3));
    // It could not fork for the first; the second sits and has its number.
    order::send(told.as_fd(), &Word::Forked(0), &[]).unwrap();
    step(&mut pool);
    assert_eq!((pool.count(State::Taken), pool.failures), (1, 1));
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    order::send(others[1].as_fd(), &Word::Seated, &[]).unwrap();
    step(&mut pool);
    assert_eq!((pool.count(State::Ready), pool.failures), (1, 0));
    assert_eq!(pool.count(State::Seating) + pool.count(State::Ready), READY);
}

#[test]
fn an_interpreter_that_forked_long_enough_is_let_go_and_what_waits_stays() {
    let (mut pool, others) = quiet(1);
    pool.warm = true;
    let told = with_interpreter(&mut pool);
    step(&mut pool);
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    order::send(others[0].as_fd(), &Word::Seated, &[]).unwrap();
    pool.forks = FORKS;
    assert!(matches!(step(&mut pool), Step::Zygote));
    assert_eq!((pool.count(State::Ready), pool.forks, pool.zygote.is_none()), (1, 0, true));
    // Its channel is closed with it: that is how it hears of it. What was said before is still there to be read.
    let read = || rustix::net::recv(&told, &mut [0_u8; 64][..], rustix::net::RecvFlags::DONTWAIT).map(|(_, length)| length);
    while read().unwrap() > 0 {}
}

#[test]
fn three_jails_in_a_row_that_come_to_nothing_end_the_pool() {
    let (mut pool, _others) = quiet(3);
    step(&mut pool);
    for number in 1..=3 {
        assert!(!pool.is_broken());
        pool.died(Pid::from_raw(ABSENT + number).unwrap(), &End::default(), true);
    }
    assert!(pool.is_broken() && matches!(step(&mut pool), Step::None));
}
