//! A call that is made again where its roots were changed after the look at them: nothing has run by then.

use tokio_util::sync::CancellationToken;

use super::programs::NoRun;
use super::programs::failed;
use crate::model::{Code, Failure};

/// How often a call is made whose roots changed between the look at them and their mount.
const TRIES: u32 = 4;

/// A call that can be made again as long as nothing has run.
pub(super) trait Repeated {
    /// What comes of it.
    type Made;
    /// Makes the call.
    fn run(&self) -> impl Future<Output = Result<Self::Made, NoRun>> + Send;
    /// Looks at its roots anew.
    fn look_again(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Makes a call; where something that may not be seen was moved after the look, nothing has run, and it is made again after another look. Such a look
/// may take long: it ends with the call.
///
/// # Errors
/// `cancelled`, those of the look, and why it could not be made.
pub(super) async fn made<C: Repeated>(call: &mut C, cancel: &CancellationToken) -> Result<C::Made, Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        match call.run().await {
            Ok(ended) => return Ok(ended),
            Err(NoRun::Moved { .. }) if tries < TRIES => tokio::select! {
                biased;
                looked = call.look_again() => looked?,
                () = cancel.cancelled() => return Err(Failure::new(Code::Cancelled, "the call was cancelled")),
            },
            Err(fault) => return Err(failed(&fault)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call during which something is moved so often, and which ends like this then.
    struct Restless {
        moves: u32,
        last: fn() -> Result<u32, NoRun>,
        looks: u32,
        runs: std::sync::atomic::AtomicU32,
        /// Cancelled by another look, which takes for ever then.
        cancels: Option<CancellationToken>,
    }

    impl Repeated for Restless {
        type Made = u32;

        async fn run(&self) -> Result<u32, NoRun> {
            self.runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if self.looks < self.moves { Err(NoRun::Moved { root: "shelf".to_owned() }) } else { (self.last)() }
        }

        async fn look_again(&mut self) -> Result<(), Failure> {
            self.looks += 1;
            if let Some(cancel) = &self.cancels {
                cancel.cancel();
                std::future::pending::<()>().await;
            }
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_call_whose_denied_entries_were_moved_is_made_again_after_another_look_and_no_other_one_is() {
        let call = async |moves: u32, last: fn() -> Result<u32, NoRun>| {
            let mut call = Restless { moves, last, looks: 0, runs: 0.into(), cancels: None };
            let ended = made(&mut call, &CancellationToken::new()).await.map_err(|failure| failure.0.code);
            (ended, call.looks, call.runs.into_inner())
        };
        let well = || Ok(42);
        assert_eq!(call(0, well).await, (Ok(42), 0, 1));
        assert_eq!(call(TRIES - 1, well).await, (Ok(42), TRIES - 1, TRIES));
        assert_eq!(call(TRIES, well).await, (Err(Code::RootNotEnforceable), TRIES - 1, TRIES));
        // Nothing was moved: another look at a million entries would show the same.
        let unavailable = || Err(NoRun::Unavailable { layer: "memory".to_owned(), reason: "none".to_owned() });
        assert_eq!(call(0, unavailable).await, (Err(Code::SandboxUnavailable), 0, 1));
        let root = || Err(NoRun::Root { root: "shelf".to_owned(), reason: "it is gone".to_owned() });
        assert_eq!(call(0, root).await, (Err(Code::RootNotEnforceable), 0, 1));
    }

    #[tokio::test]
    async fn another_look_ends_with_its_call() {
        let cancel = CancellationToken::new();
        let mut call = Restless { moves: 9, last: || Ok(0), looks: 0, runs: 0.into(), cancels: Some(cancel.clone()) };
        assert_eq!(made(&mut call, &cancel).await.map_err(|failure| failure.0.code), Err(Code::Cancelled));
    }
}
