use super::*;

#[test]
fn it_starts() {
    let source = Source { file: "x".into(), index: 0 };
    let mut ingest = Ingest::new();
    ingest.add(&source, br#"{"kind":"Pod","metadata":{"name":"a","uid":"u"}}"#).expect("json");
    let (snapshot, anomalies) = ingest.finish(None);
    assert_eq!(snapshot.pods().len(), 1);
    assert_eq!(anomalies, []);
}
