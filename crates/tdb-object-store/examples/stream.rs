//! Counts the cells of an array in a store, batch by batch within 64 MiB, on a tokio runtime with
//! one thread:
//!
//! ```sh
//! cargo run -p tdb-object-store --example stream -- s3://bucket/array
//! ```
//!
//! Credentials come from the environment (`AWS_…`, `AZURE_…`, `GOOGLE_…`).

use tdb_array::OpenOptions;
use tdb_object_store::Locations;

/// Prints the number of cells of the array.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("the URL of an array is needed")?;
    println!("{} cells", cells(&url).await?);
    Ok(())
}

/// Streams all cells, and counts them.
pub async fn cells(url: &str) -> Result<usize, Box<dyn std::error::Error>> {
    let array = OpenOptions::new().open_async(Locations::new().awaited(url)?).await?;
    let mut batches = array.read().memory("64MiB".parse()?).batches_async();
    let mut cells = 0;
    while let Some(batch) = batches.next().await {
        cells += batch?.len();
    }
    Ok(cells)
}
