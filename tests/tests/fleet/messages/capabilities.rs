//! What a package can call, its role allows, and the other way round: read from the files alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_yaml_ng::Value;

/// The crate that calls each service that a role can name.
const SDKS: [(&str, &str); 8] = [
    ("aws-sdk-bedrockruntime", "bedrock"),
    ("aws-sdk-dynamodb", "dynamodb"),
    ("aws-sdk-s3", "s3"),
    ("aws-sdk-scheduler", "scheduler"),
    ("aws-sdk-secretsmanager", "secretsmanager"),
    ("aws-sdk-sns", "sns"),
    ("aws-sdk-sqs", "sqs"),
    ("postman", "ses"),
];

/// What Lambda itself does with a function's role: it reads sources, and gives up on what failed. And
/// what no call is made for: giving a role to a schedule.
const LAMBDAS_OWN: [&str; 9] = [
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
    "logs:",
    "iam:PassRole",
];

struct Deployed {
    name: String,
    binary: String,
    folder: PathBuf,
    environment: BTreeSet<String>,
    actions: BTreeSet<String>,
}

struct Package {
    name: String,
    binaries: Vec<String>,
    dependencies: BTreeSet<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The value behind a tag such as `!GetAtt`.
fn untagged(value: &Value) -> &Value {
    match value {
        Value::Tagged(tagged) => &tagged.value,
        other => other,
    }
}

fn text(value: &Value) -> String {
    untagged(value).as_str().unwrap_or_default().to_owned()
}

fn many(value: &Value) -> Vec<&Value> {
    match value.as_sequence() {
        Some(values) => values.iter().collect(),
        None => vec![value],
    }
}

/// The functions of the template, each with the actions that its role allows it.
fn deployed() -> Vec<Deployed> {
    let template = fs::read_to_string(root().join("template.yaml")).unwrap();
    let template: Value = serde_yaml_ng::from_str(&template).unwrap();
    let resources = template["Resources"].as_mapping().unwrap();
    let functions = resources
        .values()
        .filter(|resource| resource["Type"] == "AWS::Serverless::Function");
    functions
        .map(|resource| {
            let properties = &resource["Properties"];
            let role = text(&properties["Role"]);
            let role = role.split('.').next().unwrap();
            let variables = properties["Environment"]["Variables"].as_mapping().unwrap();
            Deployed {
                name: text(&properties["FunctionName"]),
                binary: text(&resource["Metadata"]["BuildProperties"]["Binary"]),
                folder: root().join(text(&properties["CodeUri"])),
                environment: variables.keys().map(text).collect(),
                actions: actions(&resources[role]["Properties"]),
            }
        })
        .collect()
}

/// What the role allows, but for what Lambda itself needs: logs, its sources, its dead letters.
fn actions(role: &Value) -> BTreeSet<String> {
    let policies = many(&role["Policies"]).into_iter();
    let statements = policies.flat_map(|policy| many(&policy["PolicyDocument"]["Statement"]));
    let allowed = statements.filter(|statement| {
        statement["Effect"] == "Allow" && text(&statement["Sid"]) != "DeadLetters"
    });
    let actions = allowed.flat_map(|statement| many(&statement["Action"]));
    actions
        .map(text)
        .filter(|action| !LAMBDAS_OWN.iter().any(|own| action.starts_with(own)))
        .collect()
}

fn package(folder: &Path) -> Package {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest: toml::Value = toml::from_str(&manifest).unwrap();
    let names = |table: &toml::Value| table.as_table().unwrap().keys().cloned().collect();
    let binaries = manifest["bin"].as_array().unwrap().iter();
    Package {
        name: manifest["package"]["name"].as_str().unwrap().to_owned(),
        binaries: binaries
            .map(|binary| binary["name"].as_str().unwrap().to_owned())
            .collect(),
        dependencies: names(&manifest["dependencies"]),
    }
}

/// Every package below functions/.
fn packages() -> BTreeMap<String, Package> {
    let folders = |path: PathBuf| {
        fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let all = folders(root().join("functions")).flat_map(|folder| {
        let own = std::iter::once(folder.clone());
        own.chain(folders(folder)).collect::<Vec<_>>()
    });
    let packages = all.filter(|folder| folder.join("Cargo.toml").exists());
    packages
        .map(|folder| package(&folder))
        .map(|package| (package.name.clone(), package))
        .collect()
}

#[test]
fn a_package_depends_on_the_clients_of_exactly_the_services_that_its_role_allows() {
    for function in deployed() {
        let package = package(&function.folder);
        let has_client = |sdk: &str| package.dependencies.contains(sdk);
        let clients = SDKS.iter().filter(|(sdk, _)| has_client(sdk));
        let clients: BTreeSet<&str> = clients.map(|(_, service)| *service).collect();
        let services = function.actions.iter();
        let services: BTreeSet<&str> = services
            .map(|action| action.split(':').next().unwrap())
            .collect();
        assert_eq!(clients, services, "{}", function.name);
        let known = |name: &&String| {
            name.starts_with("aws-sdk-") && !SDKS.iter().any(|(sdk, _)| sdk == name)
        };
        assert_eq!(
            package.dependencies.iter().find(known),
            None,
            "{}",
            function.name
        );
    }
}

#[test]
fn few_can_reach_the_provider_the_model_and_people() {
    let packages = packages();
    let with = |dependency: &str| -> Vec<&str> {
        let having = packages
            .values()
            .filter(|package| package.dependencies.contains(dependency));
        having.map(|package| package.name.as_str()).collect()
    };
    assert_eq!(
        with("provider"),
        ["bdc-cashier", "dunr-portal", "dunr-retrier"]
    );
    let worded = ["bdc-composer", "dunr-mailer", "dunr-summary"];
    assert_eq!(with("aws-sdk-bedrockruntime"), worded);
    assert_eq!(with("aws-sdk-sns"), ["bdc-composer"]);
    let mailing = [
        "bdc-composer",
        "bdc-escalator",
        "dunr-mailer",
        "dunr-summary",
    ];
    assert_eq!(with("postman"), mailing);
    assert_eq!(with("copywriter"), mailing);
    assert_eq!(with("aws-sdk-sqs"), ["relay"]);
    assert_eq!(with("aws-sdk-scheduler"), ["dunr-scheduler"]);
    assert_eq!(with("aws-sdk-s3"), ["dunr-mailer", "dunr-summary"]);

    for function in deployed() {
        let package = package(&function.folder);
        let sender = match function.name.starts_with("dunr-") {
            true => "SENDER",
            false => "SENDER_EMAIL",
        };
        for (dependency, variable) in [
            ("provider", "PROVIDER_SECRET"),
            ("provider", "PROVIDER_URL"),
            ("aws-sdk-bedrockruntime", "MODEL_ID"),
            ("aws-sdk-sns", "SENDER_ID"),
            ("postman", sender),
        ] {
            let (can, told) = (
                package.dependencies.contains(dependency),
                function.environment.contains(variable),
            );
            assert_eq!(can, told, "{}: {dependency} and {variable}", function.name);
        }
    }
}

#[test]
fn a_package_is_named_as_its_binary_and_as_it_is_deployed() {
    let deployed = deployed();
    let mut left = packages();
    for function in deployed {
        let package = package(&function.folder);
        let is_first = left.remove(&package.name).is_some();
        // The relay is one package for every system.
        assert!(is_first || package.name == "relay", "{}", function.name);
        assert_eq!(
            package.binaries,
            [package.name.as_str()],
            "{}",
            function.name
        );
        assert_eq!(function.binary, package.name, "{}", function.name);
        if package.name != "relay" {
            assert_eq!(function.name, package.name);
        }
    }
    let left: Vec<_> = left.into_keys().collect();
    assert_eq!(left, Vec::<String>::new(), "each package is deployed");
}
