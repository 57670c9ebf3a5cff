//! Builds the model that the settings name.

use std::sync::Arc;

use engine::ports::{Clock, Model, Surface, VendorSearch};
use jiff::Timestamp;
use journal::Journal;
use models::anthropic::{self, Anthropic, BadSettings};
use models::claude::{self, Claude};
use models::offline::Offline;
use models::openai::{self, OpenAi};

use crate::claude::company;
use crate::exit::Failed;
use crate::model_records::ModelRecords;
use crate::settings::web::{self, SearchWay};
use crate::settings::{Brain, Settings};

/// Services that a model may need.
pub struct Surroundings {
    /// Stores the model's own session state.
    pub journal: Arc<Journal>,
    /// Receives notices.
    pub surface: Arc<dyn Surface>,
    pub now: Timestamp,
    pub clock: Arc<dyn Clock>,
}

/// Validates the model part of `settings` before anything is created or opened.
pub fn check(settings: &Settings) -> Result<(), Failed> {
    match &settings.brain {
        Brain::Offline | Brain::Keyless(_) => Ok(()),
        Brain::Anthropic(settings) => Anthropic::new(settings.clone()).map(drop).map_err(bad),
        Brain::OpenAi(settings) => OpenAi::new(settings.clone()).map(drop).map_err(bad),
        Brain::Claude(settings) => settings.check_program().map_err(bad_claude),
    }
}

/// A model and its accessories.
pub struct Built {
    pub model: Arc<dyn Model>,
    /// The vendor's own web search, if it is used.
    pub search: Option<Arc<dyn VendorSearch>>,
    /// A sentence about it that the user should read.
    pub notice: Option<String>,
}

impl Built {
    fn new(model: Arc<dyn Model>) -> Self {
        Self { model, search: None, notice: None }
    }
}

/// Builds the model of `settings`.
pub async fn brain(settings: &Settings, around: Surroundings) -> Result<Built, Failed> {
    let searches = matches!(web::way(settings), SearchWay::Vendor(_));
    Ok(match &settings.brain {
        Brain::Offline => Built::new(Arc::new(Offline)),
        Brain::Keyless(why) => {
            let told = format!("{why} until then i answer without a model: ollim-bot setup model");
            Built { notice: Some(told), ..Built::new(Arc::new(Offline)) }
        }
        Brain::Anthropic(anthropic) => {
            let records = ModelRecords::new(around.journal.disk(), settings.paths.state(), around.clock);
            let anthropic = anthropic::Settings { store: Some(Arc::new(records)), ..anthropic.clone() };
            let vendor = Arc::new(Anthropic::new(anthropic).map_err(bad)?);
            let search = anthropic::WebSearch::new(vendor.clone(), web::cheapest(settings));
            Built { search: searches.then(|| Arc::new(search) as _), ..Built::new(vendor) }
        }
        Brain::OpenAi(openai) => {
            let vendor = Arc::new(OpenAi::new(openai.clone()).map_err(bad)?);
            let search = openai::WebSearch::new(vendor.clone());
            Built { search: searches.then(|| Arc::new(search) as _), ..Built::new(vendor) }
        }
        Brain::Claude(settings) => program(settings, around).await?,
    })
}

async fn program(settings: &claude::Settings, around: Surroundings) -> Result<Built, Failed> {
    let found = around.journal.model_places(around.now).await;
    let found = found.map_err(|error| Failed::Configuration(error.to_string()))?;
    let company = company(around.journal, found.value, around.surface);
    let claude = Claude::new(settings.clone(), company).map_err(bad_claude)?;
    let notice = found.damage.map(|damage| {
        format!("{damage}. the claude program is told our conversation again; nothing of it is lost.")
    });
    Ok(Built { notice, ..Built::new(Arc::new(claude)) })
}

fn bad(bad: BadSettings) -> Failed {
    Failed::Configuration(bad.to_string())
}

fn bad_claude(bad: claude::BadSettings) -> Failed {
    Failed::Configuration(bad.to_string())
}
