//! A verb asks for a permit; an action alone is not one.
use toolgate::model::{CallPath, FileInfo};
use toolgate::sandbox::Sandbox;

fn execute(sandbox: &Sandbox, path: CallPath) {
    let action = FileInfo { path };
    let _ = sandbox.roots.info(action);
}

fn main() {}
