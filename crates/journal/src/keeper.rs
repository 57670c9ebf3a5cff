//! A keeper: one thread that owns one thing and does what it is asked, in order.
//!
//! SQLite and the disk block, so nobody who waits for other things may call them. Each keeper owns its
//! connection; the others send work and await the answer.

use std::sync::mpsc;
use std::thread;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

type Work<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A way to send work to the thread.
#[derive(Debug)]
pub struct Keeper<T> {
    work: Option<mpsc::Sender<Work<T>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<T: Send + 'static> Keeper<T> {
    /// Gives `owned` to a new thread called `name`.
    pub fn new(name: &str, mut owned: T) -> std::io::Result<Self> {
        let (work, jobs) = mpsc::channel::<Work<T>>();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            for job in jobs {
                job(&mut owned);
            }
        })?;
        Ok(Self { work: Some(work), thread: Some(thread) })
    }

    /// Has `job` done; nothing comes back if the thread is gone.
    pub fn ask<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> BoxFuture<'static, Option<R>> {
        let (done, answer) = oneshot::channel();
        if let Some(work) = &self.work {
            // A failed send drops `done`, and the answer says so.
            let _ = work.send(Box::new(move |owned| drop(done.send(job(owned)))));
        }
        Box::pin(async move { answer.await.ok() })
    }
}

impl<T> Drop for Keeper<T> {
    /// Waits until all work is done, so that nothing that was asked for is lost.
    fn drop(&mut self) {
        self.work.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
