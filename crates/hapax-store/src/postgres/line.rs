//! A writer's own way to the database: connections that its thread drives itself, while it waits for them.
//!
//! An answer then wakes the thread that waits for it, and no other one in between: with statements by the dozen that is a
//! third of what a writer costs. Between two waits nobody listens, so a connection that was cut meanwhile shows when it
//! is used next.

use std::future::Future;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio::runtime::{Builder, Handle, Runtime};

use super::connect::pool;
use super::known::{Shared, unreachable};
use crate::seam::StoreError;

/// One for the turn, and one for what is written beside it.
const CONNECTIONS_MAX: usize = 2;

/// A writer's way to the database.
#[derive(Debug)]
pub(super) struct Line {
    /// There until it is dropped.
    runtime: Option<Runtime>,
    connections: Pool,
    statement_timeout: Duration,
}

impl Line {
    pub(super) fn new(shared: &Shared) -> Result<Self, StoreError> {
        let built = Builder::new_current_thread().enable_all().build();
        let runtime = built.map_err(|error| StoreError::Unreachable(format!("no runtime: {error}")))?;
        let connections = pool(&shared.address, &shared.options, CONNECTIONS_MAX)?;
        Ok(Self { runtime: Some(runtime), connections, statement_timeout: shared.options.statement_timeout })
    }

    /// Waits, wherever the caller is: in a thread of its own, or on a worker of another runtime.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref().expect("the runtime is there until this is dropped");
        match Handle::try_current() {
            Ok(_) => tokio::task::block_in_place(|| runtime.block_on(future)),
            Err(_) => runtime.block_on(future),
        }
    }

    /// A connection.
    pub(super) async fn client(&self) -> Result<Object, StoreError> {
        self.connections.get().await.map_err(|error| unreachable(&error))
    }

    /// No connection that lies here is used again.
    pub(super) fn forget(&self) {
        self.connections.retain(|_, _| false);
    }

    /// Waits for the database, but not for ever: one that stands still does not even notice that it is too late. Nothing if
    /// it was; connections on which something is still under way are not used again.
    pub(super) async fn patiently<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.within(self.statement_timeout + super::known::PATIENCE, work).await
    }

    pub(super) async fn within<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        let done = tokio::time::timeout(time, work).await.ok();
        if done.is_none() {
            self.forget();
        }
        done
    }

    /// Closes a connection for good, with whatever it was doing.
    pub(super) async fn close(&self, client: Object) {
        drop(Object::take(client));
        // It says so to the database only when it is driven, and nobody knows when that is the next time.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Also on a worker of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
