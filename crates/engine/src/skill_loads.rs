//! Loads the skills of jobs in the background, because their commands take time.

use std::sync::Arc;

use domain::context::skills::{LoadedSkills, NamedSkills};
use domain::occurrence::OccurrenceKey;
use tokio::task::JoinSet;

use crate::ports::ToolRunner;

/// The skill loads that are running.
pub struct SkillLoads {
    tools: Arc<dyn ToolRunner>,
    tasks: JoinSet<(OccurrenceKey, LoadedSkills)>,
}

impl SkillLoads {
    pub fn new(tools: Arc<dyn ToolRunner>) -> Self {
        Self { tools, tasks: JoinSet::new() }
    }

    /// Starts loading the skills of one job.
    pub fn start(&mut self, key: OccurrenceKey, wanted: NamedSkills) {
        let tools = Arc::clone(&self.tools);
        self.tasks.spawn(async move { (key, tools.load_skills(&wanted).await) });
    }

    /// Returns whether any load is running.
    pub fn is_running(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the number of running loads.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the next finished load. Returns `None` for one that panicked; the job that waits
    /// for it retries.
    pub async fn next_result(&mut self) -> Option<(OccurrenceKey, LoadedSkills)> {
        self.tasks.join_next().await?.ok()
    }

    /// Aborts all loads.
    pub async fn abort_all(&mut self) {
        self.tasks.shutdown().await;
    }
}
