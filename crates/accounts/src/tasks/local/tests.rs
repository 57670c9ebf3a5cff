//! Tests of a task file with concurrent writers.

use super::*;
use crate::file_store::memory::MemoryFileStore;

const FILE: &str = "/data/tasks.md";

fn list(memory: &Arc<MemoryFileStore>) -> LocalTaskList {
    LocalTaskList::new(Arc::clone(memory) as Arc<dyn FileStore>, FILE.into())
}

#[tokio::test(start_paused = true)]
async fn concurrent_changes_are_kept() {
    let memory = Arc::new(MemoryFileStore::with_file(FILE, "- [ ] one ^a\n"));
    memory.concurrent_writes.lock().unwrap().push(b"- [ ] one ^a\n- [ ] two ^b\n".to_vec());
    let added =
        list(&memory).add(TaskChange { title: Some("three".into()), ..TaskChange::default() }).await.unwrap();
    assert_eq!(memory.text(FILE), format!("- [ ] one ^a\n- [ ] two ^b\n- [ ] three ^{}\n", added.id));
}

#[tokio::test(start_paused = true)]
async fn done_tasks_are_listed_only_on_request() {
    let memory = Arc::new(MemoryFileStore::with_file(FILE, "- [x] one ^a\n- [ ] two\n"));
    let list = list(&memory);
    assert_eq!(list.list(TaskFilter::Open).await.unwrap().len(), 1);
    assert_eq!(list.list(TaskFilter::All).await.unwrap().len(), 2);
    assert!(memory.text(FILE).contains("- [ ] two ^"), "ids are written down when the list is read");
}

#[tokio::test(start_paused = true)]
async fn constantly_changing_list_is_reported_and_still_listed() {
    let memory = Arc::new(MemoryFileStore::with_file(FILE, "- [ ] one\n"));
    let others = (0..1_000).map(|n| format!("- [ ] one\n- [ ] number {n}\n").into_bytes());
    memory.concurrent_writes.lock().unwrap().extend(others);
    assert_eq!(list(&memory).list(TaskFilter::Open).await.unwrap().len(), 2);
    let late = list(&memory).complete("x").await.unwrap_err();
    assert!(matches!(late, AccountError::NotFound(_)));
    let late = list(&memory)
        .add(TaskChange { title: Some("two".into()), ..TaskChange::default() })
        .await
        .unwrap_err();
    assert_eq!(late.to_string(), "somebody else keeps writing tasks.md. try again later.");
}

#[tokio::test(start_paused = true)]
async fn oversized_list_is_refused() {
    let memory = Arc::new(MemoryFileStore::with_file(FILE, vec![b'x'; MAX_BYTES + 1]));
    let refused = list(&memory).list(TaskFilter::All).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "tasks.md would be bigger than 4 MB, which is more than i read. move old things out of it."
    );
}
