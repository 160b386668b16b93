//! Mistakes in a line of a report.

/// The mistake in a line of a report.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// The line is none of a report.
    #[error("not a report line: {0}")]
    Json(#[from] serde_json::Error),
    /// A worker of another version wrote it.
    #[error(
        "version {found}, but this kilter reads version {}; use the worker that was built with it",
        kilter_protocol::VERSION
    )]
    Version {
        /// The version that the line names.
        found: u32,
    },
    /// The line does not end where any line does.
    #[error("a line of more than {most} bytes")]
    TooLong {
        /// Number of bytes that a line may have.
        most: u64,
    },
    /// The report had ended.
    #[error("a line after the end line")]
    AfterEnd,
    /// Nobody asked for the block.
    #[error("block `{block}` was not asked for")]
    NotAsked {
        /// Id of the block.
        block: String,
    },
    /// The block had ended.
    #[error("block `{block}` was done before")]
    DoneBefore {
        /// Id of the block.
        block: String,
    },
    /// The block was asked without the item.
    #[error("block `{block}` has no item `{item}`")]
    NoItem {
        /// Id of the block.
        block: String,
        /// Id of the item.
        item: String,
    },
}
