//! A verb asks for a permit; an action alone is not one.
use toolgate::model::{CallPath, ReadFile};
use toolgate::sandbox::Sandbox;

fn execute(sandbox: &Sandbox, path: CallPath) {
    let action = ReadFile { path, offset: 1, limit: None, encoding: Default::default() };
    let _ = sandbox.roots.read(action);
}

fn main() {}
