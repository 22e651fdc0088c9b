//! Indexes that are behind their tables, and only while that is asked for.

use super::*;

const TEMPLATE: &str = r#"
Resources:
  Rows:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: rows
      AttributeDefinitions:
        - {AttributeName: id, AttributeType: S}
        - {AttributeName: state, AttributeType: S}
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      TimeToLiveSpecification: {AttributeName: expires_at, Enabled: true}
      GlobalSecondaryIndexes:
        - IndexName: by-state
          KeySchema: [{AttributeName: state, KeyType: HASH}, {AttributeName: id, KeyType: RANGE}]
          Projection: {ProjectionType: ALL}
  Reader:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: reader
      Policies:
        - Statement:
            - {Effect: Allow, Action: dynamodb:Query, Resource: !Sub "${Rows.Arn}/index/by-state"}
            - {Effect: Allow, Action: dynamodb:GetItem, Resource: !GetAtt Rows.Arn}
"#;

struct Town {
    cloud: LocalCloud,
    reader: aws_sdk_dynamodb::Client,
}

impl Town {
    fn new() -> Self {
        let cloud = LocalCloud::from_template(TEMPLATE, options()).unwrap();
        let reader = lambda_kit::client!(aws_sdk_dynamodb, &cloud.setup("reader").unwrap().aws);
        Self { cloud, reader }
    }

    fn lag(&self, seed: u64) {
        let max = Duration::seconds(60);
        self.cloud
            .set_index_lag(Some(IndexLag { seed, max }))
            .unwrap();
    }

    async fn put(&self, id: &str, state: &str) {
        let put = self.cloud.dynamodb().put_item().table_name("rows");
        let put = put.item("id", AttributeValue::S(id.to_owned()));
        let put = put.item("state", AttributeValue::S(state.to_owned()));
        put.send().await.unwrap();
    }

    async fn open(&self) -> Vec<String> {
        let query = self.reader.query().table_name("rows");
        let query = query
            .index_name("by-state")
            .key_condition_expression("#state = :open")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":open", AttributeValue::S("open".to_owned()));
        let found = query.send().await.unwrap();
        let ids = found.items().iter().map(|row| row["id"].as_s().unwrap());
        ids.cloned().collect()
    }
}

#[tokio::test]
async fn an_index_shows_rows_as_they_were_until_it_has_caught_up() {
    let (mut missed, mut kept, mut prompt) = (0, 0, 0);
    for seed in 0..12 {
        let town = Town::new();
        town.put("old", "open").await;
        town.lag(seed);
        town.put("new", "open").await;
        town.put("old", "closed").await;
        let seen = town.open().await;
        missed += usize::from(!seen.contains(&"new".to_owned()));
        kept += usize::from(seen.contains(&"old".to_owned()));
        prompt += usize::from(seen == ["new"]);
        let row = town.reader.get_item().table_name("rows");
        let row = row.key("id", AttributeValue::S("old".to_owned()));
        let row = row.send().await.unwrap().item.unwrap();
        assert_eq!(
            row["state"].as_s().unwrap(),
            "closed",
            "the table is not behind"
        );
        town.cloud.advance(Duration::seconds(60)).await;
        assert_eq!(town.open().await, ["new"]);
        let behind = town.cloud.faults().injected();
        let behind = behind.get("index_behind").copied().unwrap_or_default();
        assert_eq!(behind, u64::from(seen != ["new"]));
    }
    assert!(
        missed > 2 && kept > 2 && prompt > 0,
        "{missed} {kept} {prompt}"
    );
}

#[tokio::test]
async fn writes_of_one_row_reach_an_index_in_their_order() {
    for seed in 0..20 {
        let town = Town::new();
        town.lag(seed);
        for state in ["open", "closed", "open", "closed"] {
            town.put("a", state).await;
        }
        town.cloud.advance(Duration::seconds(60)).await;
        assert_eq!(town.open().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_expired_leaves_a_lagging_index_and_an_ended_lag_is_over_at_once() {
    let town = Town::new();
    town.lag(1);
    let expires = options().start.timestamp() + 60;
    let put = town.cloud.dynamodb().put_item().table_name("rows");
    let put = put.item("id", AttributeValue::S("a".to_owned()));
    let put = put.item("state", AttributeValue::S("open".to_owned()));
    let put = put.item("expires_at", AttributeValue::N(expires.to_string()));
    put.send().await.unwrap();
    town.cloud.advance(Duration::hours(2)).await;
    for id in ["x", "y", "z"] {
        // Something is on its way, so that the index answers.
        town.put(id, "closed").await;
    }
    assert_eq!(town.open().await, Vec::<String>::new());
    for id in ["b", "c", "d", "e"] {
        town.put(id, "open").await;
    }
    assert!(town.open().await.len() < 4);
    town.cloud.set_index_lag(None).unwrap();
    assert_eq!(town.open().await.len(), 4);
}
