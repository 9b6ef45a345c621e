//! Calls that wait for a jail, and what comes of them where none comes.

use std::os::fd::AsFd;

use super::tests::{order, quiet, step, with_interpreter};
use super::*;
use crate::sandbox::jail::ticket::Ticket;

/// A call with what belongs to it, and the server's end of its channel.
fn call() -> (OwnedFd, Handed) {
    let (server, theirs) = order::channel().unwrap();
    let mut fds = vec![theirs, Ticket::new().unwrap().as_fd().try_clone_to_owned().unwrap()];
    let (other, _) = order::channel().unwrap();
    fds.extend((0..6).map(|_| other.try_clone().unwrap()));
    (server, Handed::sort(fds).unwrap())
}

/// A pool with an interpreter that forks into the first of these cells, for which the calls wait.
fn waiting(cells: i32, asked: usize) -> (Pool, Vec<OwnedFd>, OwnedFd, Vec<OwnedFd>) {
    let (mut pool, others) = quiet(cells);
    let told = with_interpreter(&mut pool);
    // It is heard before the first call comes.
    pool.hear(&Heard::wait(pool.channels(), pool.ears(), Some(Duration::ZERO)));
    let servers = (0..asked).map(|_| {
        let (server, handed) = call();
        assert!(pool.call(order(), handed).is_none());
        server
    });
    let servers = servers.collect();
    (pool, others, told, servers)
}

/// The interpreter that was asked first has come into this cell.
fn seated(told: &OwnedFd, cell: &OwnedFd) {
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    order::send(cell.as_fd(), &Word::Seated, &[]).unwrap();
}

fn has_a_call(cell: &OwnedFd) -> bool {
    matches!(order::receive_now::<order::Go>(cell.as_fd()), Ok(Some(_)))
}

#[test]
fn a_call_is_given_to_the_jail_into_which_its_interpreter_comes_and_no_more_come_at_once_than_may() {
    let (mut pool, others, told, _servers) = waiting(4, 4);
    step(&mut pool);
    assert_eq!((pool.count(State::Seating), pool.count(State::Empty), pool.queue.len()), (AT_ONCE, 2, 2));
    assert_eq!(others.iter().filter(|cell| has_a_call(cell)).count(), 2);
    // The first one sits, which makes room for the third.
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    step(&mut pool);
    assert_eq!((pool.count(State::Taken), pool.count(State::Seating), pool.queue.len()), (1, AT_ONCE, 1));
    assert!(has_a_call(&others[2]) && !has_a_call(&others[3]));
}

#[test]
fn a_program_that_ends_before_its_number_is_known_is_heard_of_when_it_is() {
    let (mut pool, others, told, _servers) = waiting(1, 1);
    step(&mut pool);
    assert!(has_a_call(&others[0]));
    let end = End { exit: Some(3), ..End::default() };
    for pid in [76, 77, 78] {
        assert!(pool.died(Pid::from_raw(pid).unwrap(), &End { exit: Some(pid), ..end.clone() }, true).is_none());
    }
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    step(&mut pool);
    let heard = order::receive_now::<Word>(others[0].as_fd());
    assert!(matches!(&heard, Ok(Some((Word::Ended(end), _))) if end.exit == Some(77)), "{heard:?}");
    assert!(pool.unclaimed.is_empty());
}

/// The program for this cell has begun.
fn begins(cell: &OwnedFd) {
    let (_, fds) = order::receive_now::<order::Go>(cell.as_fd()).unwrap().unwrap();
    assert!(Handed::sort(fds).unwrap().program.ticket.take());
}

fn hears_of_an_end(cell: &OwnedFd) -> bool {
    matches!(order::receive_now::<Word>(cell.as_fd()), Ok(Some((Word::Ended(_), _))))
}

#[test]
fn a_pool_gives_nothing_up_while_an_interpreter_comes_for_a_call() {
    let (mut pool, others, told, _servers) = waiting(1, 1);
    step(&mut pool);
    begins(&others[0]);
    pool.failures = FAILURES;
    assert!(pool.is_waited_for() && !pool.is_broken());
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    step(&mut pool);
    assert!(!pool.is_waited_for() && pool.is_broken());
    pool.died(Pid::from_raw(77).unwrap(), &End::default(), true);
    assert!(hears_of_an_end(&others[0]));
}

#[test]
fn what_an_interpreter_forked_before_its_death_is_heard_of_and_the_rest_is_given_back() {
    let (mut pool, others, told, servers) = waiting(3, 2);
    step(&mut pool);
    begins(&others[0]);
    let dead = pool.zygote.as_ref().unwrap().pid;
    pool.died(dead, &End::default(), true);
    assert_eq!((pool.zygote.is_none(), pool.count(State::Seating), pool.failures), (true, 2, 0));
    // The program may end before.
    pool.died(Pid::from_raw(77).unwrap(), &End::default(), true);
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    drop(told);
    // That it had not read everything is heard first.
    for _ in 0..2 {
        step(&mut pool);
    }
    assert!(hears_of_an_end(&others[0]) && pool.count(State::Seating) == 1);
    step(&mut pool);
    assert_eq!((pool.former.is_none(), pool.count(State::Seating), pool.failures), (true, 0, 0));
    pool.died(pool.cells[1].init(), &End::default(), true);
    assert!(is_given_back(&servers[1]) && pool.unclaimed.is_empty());
}

#[test]
fn a_number_that_is_given_away_again_ends_no_program() {
    let (mut pool, others, told, _servers) = waiting(2, 2);
    step(&mut pool);
    others.iter().for_each(begins);
    // Forks are outstanding all the time, as in a burst: nobody whom somebody knows is kept, and nobody twice.
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    step(&mut pool);
    let program = Pid::from_raw(77).unwrap();
    assert!(pool.knows(program) && pool.knows(pool.cells[0].init()));
    pool.died(program, &End::default(), false);
    assert!(hears_of_an_end(&others[0]) && !pool.knows(program) && pool.unclaimed.is_empty());
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    step(&mut pool);
    assert!(!hears_of_an_end(&others[1]) && pool.knows(program));
    // What was claimed is gone, and so is what nobody has claimed for long.
    let (mut pool, others, told, _servers) = waiting(2, 2);
    step(&mut pool);
    others.iter().for_each(begins);
    pool.died(program, &End::default(), true);
    order::send(told.as_fd(), &Word::Forked(77), &[]).unwrap();
    step(&mut pool);
    assert!(hears_of_an_end(&others[0]) && pool.unclaimed.is_empty());
    pool.died(program, &End::default(), true);
    pool.unclaimed[0].2 = Instant::now().checked_sub(CLAIM).unwrap();
    pool.died(Pid::from_raw(78).unwrap(), &End::default(), true);
    assert_eq!(pool.unclaimed.len(), 1);
}

#[test]
fn what_a_dead_interpreter_owes_is_not_waited_for_once_the_jails_are_gone() {
    let (mut pool, others, _told, _servers) = waiting(1, 1);
    step(&mut pool);
    begins(&others[0]);
    let dead = pool.zygote.as_ref().unwrap().pid;
    pool.died(dead, &End::default(), false);
    pool.died(Pid::from_raw(77).unwrap(), &End::default(), true);
    assert!(pool.former.is_some() && pool.unclaimed.len() == 1);
    pool.died(pool.cells[0].init(), &End::default(), false);
    assert!(pool.former.is_none() && pool.unclaimed.is_empty() && !pool.is_waited_for());
}

#[test]
fn a_program_whose_number_is_never_heard_keeps_no_jail_from_being_filled() {
    let (mut pool, others, _told, _servers) = waiting(1, 1);
    step(&mut pool);
    begins(&others[0]);
    assert!(pool.is_waited_for());
    pool.cells[0].grow_old();
    step(&mut pool);
    assert_eq!((pool.count(State::Taken), pool.count(State::Seating), pool.is_waited_for()), (1, 0, false));
    assert!(pool.zygote.is_some(), "it did begin");
}

#[test]
fn a_call_whose_interpreter_cannot_fork_is_given_back() {
    let (mut pool, _others, told, servers) = waiting(1, 1);
    step(&mut pool);
    order::send(told.as_fd(), &Word::Forked(0), &[]).unwrap();
    step(&mut pool);
    assert_eq!((pool.count(State::Taken), pool.failures), (1, 1));
    pool.died(pool.cells[0].init(), &End::default(), true);
    assert!(is_given_back(&servers[0]));
}

fn is_given_back(server: &OwnedFd) -> bool {
    matches!(order::receive_now::<Word>(server.as_fd()), Ok(Some((Word::Returned, _))))
}

#[test]
fn a_call_that_is_given_up_waits_no_more_and_the_next_one_gets_its_jail() {
    let (mut pool, others, _told, mut servers) = waiting(1, 4);
    assert!(matches!(step(&mut pool), Step::Cell));
    assert!(has_a_call(&others[0]));
    // One of the others goes, as a client that cancels; of another the ticket is taken in the moment in which the jail comes.
    servers.remove(1);
    step(&mut pool);
    assert_eq!(pool.queue.len(), 2);
    assert!(pool.queue[0].1.program.ticket.take());
    let (ours, next) = order::channel().unwrap();
    pool.add_cell(Pid::from_raw(super::tests::ABSENT + 9).unwrap(), ours, Remains::default());
    order::send(next.as_fd(), &Word::Built(false), &[]).unwrap();
    step(&mut pool);
    assert!(pool.queue.is_empty() && has_a_call(&next));
    assert_eq!(pool.count(State::Seating), 2);
}

#[test]
fn a_jail_that_is_dead_is_no_jail_for_a_call_that_waits() {
    let (mut pool, mut others, _told, _servers) = waiting(1, 1);
    let heard = Heard::wait(pool.channels(), pool.ears(), Some(Duration::ZERO));
    pool.hear(&heard);
    assert_eq!(pool.count(State::Empty), 1);
    others.clear();
    pool.step();
    assert_eq!((pool.queue.len(), pool.count(State::Seating), pool.count(State::Taken)), (1, 0, 1));
}

#[test]
fn an_interpreter_that_does_not_answer_is_done_without() {
    let (mut pool, _others, _told, servers) = waiting(1, 1);
    assert!(matches!(step(&mut pool), Step::None));
    assert_eq!((pool.count(State::Seating), pool.queue.len()), (1, 0));
    pool.cells[0].grow_old();
    step(&mut pool);
    assert!(pool.zygote.is_none() && pool.count(State::Taken) == 1);
    pool.died(pool.cells[0].init(), &End::default(), true);
    assert!(is_given_back(&servers[0]));
    pool.last_call = Instant::now().checked_sub(QUIET).unwrap();
    assert!(matches!(step(&mut pool), Step::Zygote));
}

#[test]
fn a_jail_in_which_a_call_does_not_begin_ends_with_those_beside_it() {
    let (mut pool, others, told, _servers) = waiting(2, 1);
    step(&mut pool);
    seated(&told, &others[0]);
    step(&mut pool);
    assert!(has_a_call(&others[0]));
    pool.cells[0].grow_old();
    step(&mut pool);
    assert_eq!(pool.count(State::Taken), 2);
}
