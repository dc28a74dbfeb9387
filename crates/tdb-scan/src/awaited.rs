//! Work on an array that a caller awaits.

use crate::replay::replay;
use crate::{Error, Result, Snapshot};

/// The function to run, with its arguments.
type Work<A, T> = (Snapshot, A, fn(&Snapshot, &A) -> Result<T>);

/// Runs a function on an array and its arguments, again and again until everything it reads has
/// arrived.
pub async fn run_async<A: Send + 'static, T: Send + 'static>(
    snapshot: &Snapshot,
    asked: A,
    run: fn(&Snapshot, &A) -> Result<T>,
) -> Result<T> {
    let snapshot = snapshot.for_task();
    let context = snapshot.context().clone();
    let Some(replay_storage) = &context.replay_storage else { return run(&snapshot, &asked) };
    let step = |(snapshot, asked, run): &mut Work<A, T>| run(snapshot, asked);
    let done = replay(replay_storage, context.spawner.as_ref(), (snapshot, asked, run), step).await;
    done.map_err(|error| Error::io(context.describe(""), error))?.1
}
