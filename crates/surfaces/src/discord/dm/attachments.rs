//! Downloads the images attached to a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::conversation::{IMAGE_BYTES, Image};

use super::Shared;
use crate::discord::events::Attachment;

pub(super) struct FetchedImages {
    /// Usable images.
    pub(super) images: Vec<Image>,
    /// Names of unusable attachments with the reason.
    pub(super) unused: Vec<String>,
}

/// AT-1 to AT-3: the type of an attachment is determined by its bytes. Unusable ones are named;
/// none of them loses the message.
pub(super) async fn fetch_images(shared: &Shared, attachments: &[Attachment]) -> FetchedImages {
    let mut looked = FetchedImages { images: Vec::new(), unused: Vec::new() };
    for attachment in attachments {
        match fetch_image(shared, attachment).await {
            Ok(image) => looked.images.push(image),
            Err(why) => looked.unused.push(format!("{} ({why})", plain_name(&attachment.name))),
        }
    }
    looked
}

async fn fetch_image(shared: &Shared, attachment: &Attachment) -> Result<Image, String> {
    if attachment.size > IMAGE_BYTES as u64 {
        return Err(format!("larger than {} MB", IMAGE_BYTES / 1024 / 1024));
    }
    let bytes = shared.rest.fetch(&attachment.url, IMAGE_BYTES).await.map_err(|why| why.to_string())?;
    Image::from_base64(STANDARD.encode(bytes)).map_err(|_| "no picture i can see".to_owned())
}

/// Removes characters that would break out of the line.
fn plain_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && !"`*_~|<>@".contains(*c)).take(60).collect()
}
