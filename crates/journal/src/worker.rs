//! A thread that owns a value and runs jobs on it in order.
//!
//! SQLite and file access block, so async code must not call them. Each such thread owns its
//! connection; callers send jobs and await the results.

use std::sync::mpsc;
use std::thread;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// Handle of the thread.
#[derive(Debug)]
pub struct Worker<T> {
    work: Option<mpsc::Sender<Job<T>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Moves `owned` to a new thread called `name`.
    pub fn new(name: &str, mut owned: T) -> std::io::Result<Self> {
        let (work, jobs) = mpsc::channel::<Job<T>>();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            for job in jobs {
                job(&mut owned);
            }
        })?;
        Ok(Self { work: Some(work), thread: Some(thread) })
    }

    /// Runs `job` on the thread. Returns `None` if the thread has ended.
    pub fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> BoxFuture<'static, Option<R>> {
        let (done, answer) = oneshot::channel();
        if let Some(work) = &self.work {
            // If sending fails, `done` is dropped, and so `answer` fails.
            let _ = work.send(Box::new(move |owned| drop(done.send(job(owned)))));
        }
        Box::pin(async move { answer.await.ok() })
    }
}

impl<T> Drop for Worker<T> {
    /// Waits until all jobs are done, so that none is lost.
    fn drop(&mut self) {
        self.work.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
