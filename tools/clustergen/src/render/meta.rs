//! What every object carries.

use crate::json::{Json, Object, json};
use crate::time;

/// Name, namespace, uid, resourceVersion (filled in later) and time of creation, in the order in
/// which an API server writes them.
pub(crate) fn metadata(namespace: Option<&str>, name: &str, uid: &str, created: i64) -> Object {
    let mut metadata = Object::default();
    metadata.insert("name", name);
    if let Some(namespace) = namespace {
        metadata.insert("namespace", namespace);
    }
    metadata.insert("uid", uid);
    metadata.insert("resourceVersion", "");
    metadata.insert("creationTimestamp", time::format(created));
    metadata
}

/// One entry of managedFields: who wrote the fields of `of`, and when.
pub(crate) fn managed(manager: &str, at: i64, subresource: Option<&str>, of: &Json) -> Json {
    let mut entry = json!({
        "manager": manager, "operation": "Update", "apiVersion": "v1", "time": time::format(at),
        "fieldsType": "FieldsV1", "fieldsV1": fields(of),
    });
    if let Some(subresource) = subresource {
        entry["subresource"] = json!(subresource);
    }
    entry
}

/// `value` as a managedFields entry names its fields.
fn fields(value: &Json) -> Json {
    match value {
        Json::Object(object) => {
            let pairs = object.iter().map(|(key, value)| (format!("f:{key}"), fields(value)));
            Json::Object(pairs.collect())
        }
        Json::List(items) => {
            // An item without a key makes the whole list one field.
            let named: Option<Object> = items.iter().map(keyed).collect();
            named.map_or_else(|| json!({}), Json::Object)
        }
        _ => json!({}),
    }
}

/// An item of a list, under the key that tells it from the others.
fn keyed(item: &Json) -> Option<(String, Json)> {
    const KEYS: [&str; 6] = ["containerPort", "mountPath", "name", "type", "uid", "ip"];
    let Json::Object(object) = item else { return None };
    let (key, value) = KEYS.iter().find_map(|key| Some((*key, object.get(key)?)))?;
    let key: Object = [(key.to_owned(), value.clone())].into_iter().collect();
    let mut inner = object.iter().map(|(key, value)| (format!("f:{key}"), fields(value))).collect();
    Object::insert_at(&mut inner, 0, ".", json!({}));
    Some((format!("k:{}", Json::Object(key)), Json::Object(inner)))
}
