//! Builds the model that the settings name.

use std::sync::Arc;

use engine::ports::{Clock, Model, Surface, VendorSearch};
use jiff::Timestamp;
use journal::Journal;
use models::anthropic::{self, Anthropic, SettingsError};
use models::claude::{self, Claude};
use models::offline::OfflineModel;
use models::openai::{self, OpenAi};

use crate::claude::callbacks;
use crate::exit::CommandError;
use crate::model_records::ModelRecords;
use crate::settings::web::{self, SearchProvider};
use crate::settings::{ModelConfig, Settings};

/// Services that a model may need.
pub struct ModelDependencies {
    /// Stores the model's own session state.
    pub journal: Arc<Journal>,
    /// Receives notices.
    pub surface: Arc<dyn Surface>,
    pub now: Timestamp,
    pub clock: Arc<dyn Clock>,
}

/// Validates the model part of `settings` before anything is created or opened.
pub fn check(settings: &Settings) -> Result<(), CommandError> {
    match &settings.model {
        ModelConfig::Offline | ModelConfig::MissingKey(_) => Ok(()),
        ModelConfig::Anthropic(settings) => {
            Anthropic::new(settings.clone()).map(drop).map_err(configuration_error)
        }
        ModelConfig::OpenAi(settings) => OpenAi::new(settings.clone()).map(drop).map_err(configuration_error),
        ModelConfig::Claude(settings) => settings.check_program().map_err(claude_configuration_error),
    }
}

/// A model and its accessories.
pub struct BuiltModel {
    pub model: Arc<dyn Model>,
    /// The vendor's own web search, if it is used.
    pub search: Option<Arc<dyn VendorSearch>>,
    /// A sentence about it that the user should read.
    pub notice: Option<String>,
}

impl BuiltModel {
    fn new(model: Arc<dyn Model>) -> Self {
        Self { model, search: None, notice: None }
    }
}

/// Builds the model of `settings`.
pub async fn build(settings: &Settings, dependencies: ModelDependencies) -> Result<BuiltModel, CommandError> {
    let searches = matches!(web::search_provider(settings), SearchProvider::Vendor(_));
    Ok(match &settings.model {
        ModelConfig::Offline => BuiltModel::new(Arc::new(OfflineModel)),
        ModelConfig::MissingKey(why) => {
            let told = format!("{why} until then i answer without a model: ollim-bot setup model");
            BuiltModel { notice: Some(told), ..BuiltModel::new(Arc::new(OfflineModel)) }
        }
        ModelConfig::Anthropic(anthropic) => {
            let records =
                ModelRecords::new(dependencies.journal.disk(), settings.paths.state(), dependencies.clock);
            let anthropic = anthropic::Settings { store: Some(Arc::new(records)), ..anthropic.clone() };
            let vendor = Arc::new(Anthropic::new(anthropic).map_err(configuration_error)?);
            let search = anthropic::WebSearch::new(vendor.clone(), web::search_model(settings));
            BuiltModel { search: searches.then(|| Arc::new(search) as _), ..BuiltModel::new(vendor) }
        }
        ModelConfig::OpenAi(openai) => {
            let vendor = Arc::new(OpenAi::new(openai.clone()).map_err(configuration_error)?);
            let search = openai::WebSearch::new(vendor.clone());
            BuiltModel { search: searches.then(|| Arc::new(search) as _), ..BuiltModel::new(vendor) }
        }
        ModelConfig::Claude(settings) => build_claude(settings, dependencies).await?,
    })
}

async fn build_claude(
    settings: &claude::Settings,
    dependencies: ModelDependencies,
) -> Result<BuiltModel, CommandError> {
    let found = dependencies.journal.model_positions(dependencies.now).await;
    let found = found.map_err(|error| CommandError::Configuration(error.to_string()))?;
    let company = callbacks(dependencies.journal, found.value, dependencies.surface);
    let claude = Claude::new(settings.clone(), company).map_err(claude_configuration_error)?;
    let notice = found.damage.map(|damage| {
        format!("{damage}. the claude program is told our conversation again; nothing of it is lost.")
    });
    Ok(BuiltModel { notice, ..BuiltModel::new(Arc::new(claude)) })
}

fn configuration_error(bad: SettingsError) -> CommandError {
    CommandError::Configuration(bad.to_string())
}

fn claude_configuration_error(bad: claude::ProgramSettingsError) -> CommandError {
    CommandError::Configuration(bad.to_string())
}
