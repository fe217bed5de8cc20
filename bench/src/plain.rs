//! The other side: one table with one unique key, filled as fast as Postgres takes it.

use std::sync::Arc;

use anyhow::ensure;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_postgres::{Client, Statement};

use crate::cluster::Cluster;
use crate::usage::{Meter, Used};
use crate::workload::{BATCH, Batch, Workload};

/// Sends everything into a new table and checks that it is there once. Answers what the sending used.
pub(crate) async fn run(
    cluster: &Cluster,
    admin: &Client,
    meter: &Meter<'_>,
    workload: &Arc<Workload>,
) -> anyhow::Result<Used> {
    for table in ["plain", "warm"] {
        let made = format!("CREATE TABLE {table} (id text PRIMARY KEY, document bytea NOT NULL)");
        admin.batch_execute(&made).await?;
    }
    let start = Arc::new(Barrier::new(workload.clients.len() + 1));
    let mut clients = JoinSet::new();
    for client in 0..workload.clients.len() {
        let connection = cluster.connect().await?;
        if let Some(batch) = workload.clients[client].first() {
            insert(&connection, &prepare(&connection, "warm").await?, batch).await?;
        }
        let statement = prepare(&connection, "plain").await?;
        let (workload, start) = (Arc::clone(workload), Arc::clone(&start));
        clients.spawn(async move {
            start.wait().await;
            for batch in &workload.clients[client] {
                let new = insert(&connection, &statement, batch).await?;
                ensure!(new == batch.fresh as u64, "{new} of {} events were new", batch.fresh);
            }
            anyhow::Ok(())
        });
    }
    let began = meter.begin().await?;
    start.wait().await;
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    let used = meter.end(began).await?;
    check(admin, workload).await?;
    admin.batch_execute("DROP TABLE plain, warm").await?;
    Ok(used)
}

async fn prepare(client: &Client, table: &str) -> anyhow::Result<Statement> {
    let insert = format!(
        "INSERT INTO {table} (id, document) SELECT unnest($1::text[]), unnest($2::bytea[]) ON CONFLICT DO NOTHING"
    );
    Ok(client.prepare(&insert).await?)
}

async fn insert(client: &Client, statement: &Statement, batch: &Batch) -> anyhow::Result<u64> {
    Ok(client.execute(statement, &[&batch.ids, &batch.documents]).await?)
}

/// Is every event there, exactly once and with its document?
pub(crate) async fn check(admin: &Client, workload: &Workload) -> anyhow::Result<()> {
    let counts = "SELECT count(*), count(DISTINCT id) FROM plain";
    let row = admin.query_one(counts, &[]).await?;
    let expected = workload.fresh() as i64;
    ensure!(row.get::<_, i64>(0) == expected && row.get::<_, i64>(1) == expected, "not every event is there once");
    let same = "SELECT count(*) FROM unnest($1::text[], $2::bytea[]) AS sent (id, document)
                JOIN plain USING (id) WHERE plain.document = sent.document";
    let ids: Vec<_> = workload.clients.iter().flatten().flat_map(|batch| &batch.ids).collect();
    let documents: Vec<_> = workload.clients.iter().flatten().flat_map(|batch| &batch.documents).collect();
    // Batches may be of one, and a question about each would take longer than the run.
    for (ids, documents) in ids.chunks(BATCH).zip(documents.chunks(BATCH)) {
        let found: i64 = admin.query_one(same, &[&ids, &documents]).await?.get(0);
        ensure!(found == ids.len() as i64, "{found} of {} documents are there", ids.len());
    }
    Ok(())
}
