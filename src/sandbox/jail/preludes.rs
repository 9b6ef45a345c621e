//! What runs before every program, compiled once by the interpreter itself: compiling it takes longer than most programs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::interpreter::Interpreter;

/// Preludes of one interpreter, by their text.
#[derive(Debug, Default)]
pub(super) struct Preludes(Arc<Mutex<HashMap<String, Arc<Vec<u8>>>>>);

/// Preludes that are remembered; each manifest and profile has one.
const MOST: usize = 16;

impl Preludes {
    /// The prelude compiled, or nothing while that is still to be done. It is begun here, beside the call, and serves the next ones.
    ///
    /// It is never a jail that compiles it: what comes out of one may be a program's.
    pub(super) fn get(&self, interpreter: &Arc<Interpreter>, prelude: &str) -> Arc<Vec<u8>> {
        if prelude.is_empty() {
            return Arc::default();
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = known.get(prelude) {
            return Arc::clone(code);
        }
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(prelude.to_owned(), Arc::default());
        let (all, interpreter, prelude) = (Arc::clone(&self.0), Arc::clone(interpreter), prelude.to_owned());
        tokio::spawn(async move {
            // Without it each program compiles the text itself.
            if let Some(code) = interpreter.compile(&prelude).await {
                all.lock().unwrap_or_else(PoisonError::into_inner).insert(prelude, Arc::new(code));
            }
        });
        Arc::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_prelude_is_compiled_beside_the_first_call_and_there_for_the_next() {
        let interpreter = Arc::new(Interpreter::detect(std::path::Path::new("python3")).await.unwrap());
        let preludes = Preludes::default();
        assert!(preludes.get(&interpreter, "").is_empty());
        assert!(preludes.get(&interpreter, "x = 29").is_empty());
        let compiled = async {
            while preludes.get(&interpreter, "x = 29").is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_mins(1), compiled).await.unwrap();
        assert_eq!(*preludes.get(&interpreter, "x = 29"), interpreter.compile("x = 29").await.unwrap());
        assert_eq!(interpreter.compile("x =").await, None);
    }
}
