//! Several statements in one round trip: all are sent before the first answer is waited for, in their order.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use futures_util::future::poll_fn;

/// One statement under way.
pub(super) type Statement<'s, T> = Pin<Box<dyn Future<Output = T> + Send + 's>>;

/// Sends all and waits for all. A statement is sent when it is first polled, so the order here is the order there.
pub(super) async fn flight<T>(mut statements: Vec<Statement<'_, T>>) -> Vec<T> {
    let mut answers: Vec<Option<T>> = statements.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waits = false;
        for (statement, answer) in statements.iter_mut().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
            match statement.as_mut().poll(context) {
                Poll::Ready(found) => *answer = Some(found),
                Poll::Pending => waits = true,
            }
        }
        if waits { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().collect()
}
