use super::*;
use crate::{FabricKind, FabricParams, Node};
use tailrace_core::Time;

/// What the text of a file amounts to.
fn read(text: &str, own: &str) -> Result<FabricParams, String> {
    let units: Table = own.parse().unwrap();
    let units = units.get("units").cloned().map_or(Units::default(), |units| units.try_into().unwrap());
    let mut fabric: Table = own.parse().unwrap();
    fabric.remove("units");
    let graph = drawn(text).and_then(|drawn| drawn.table(&units)).map_err(|error| error.to_string())?;
    fabric.insert("kind".to_owned(), Value::String("graph".to_owned()));
    fabric.extend(graph);
    FabricParams::from_table(&fabric).map_err(|error| error.to_string())
}

fn links(params: &FabricParams) -> Vec<String> {
    let FabricKind::Graph(graph) = &params.kind else { panic!("{params:?}") };
    graph.links.iter().map(|l| format!("{}-{} {} {}", l.ends[0], l.ends[1], l.rate, l.delay)).collect()
}

/// Two racks of one host, joined by two switches.
const SQUARE: [&str; 6] = [
    "h0-a 10Gbps 1us",
    "h1-b 10Gbps 1us",
    "a-x 40Gbps 500ns",
    "a-y 40Gbps 500ns",
    "b-x 40Gbps 500ns",
    "b-y 40Gbps 500ns",
];

#[test]
fn all_formats_say_the_same() {
    let pairs = [("h0", "a"), ("h1", "b"), ("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")];
    let rate = |from: &str| if from.starts_with('h') { 10 } else { 40 };
    let delay = |from: &str| if from.starts_with('h') { 1000 } else { 500 };
    let nodes = ["h0", "h1", "a", "b", "x", "y"];
    let lines = |one: &dyn Fn(&str, &str) -> String| pairs.iter().map(|(a, b)| one(a, b)).collect::<String>();
    let number = |name: &str| nodes.iter().position(|other| *other == name).unwrap();

    let words = lines(&|a, b| format!("{a} {b} {}Gbps {}ns\n", rate(a), delay(a)));
    assert_eq!(links(&read(&format!("# ours\n\n{words}"), "").unwrap()), SQUARE);
    let commas = lines(&|a, b| format!("{a},{b},{},{}\n", rate(a), delay(a)));
    let csv = format!("from,to,capacity_gbps,latency_ns\n{commas}");
    assert_eq!(links(&read(&csv, "").unwrap()), SQUARE);
    let bare = lines(&|a, b| format!("{a};{b};{} Gbit/s;{}\n", rate(a), delay(a)));
    let csv = format!("source;target;bandwidth;delay\n{bare}");
    assert_eq!(links(&read(&csv, "units = { delay = \"ns\" }").unwrap()), SQUARE);

    let keys = "<key id=\"r\" for=\"edge\" attr.name=\"rate\"/><key id=\"d\" for=\"edge\" attr.name=\"delay\">\
                <default>500ns</default></key><key id=\"t\" for=\"node\" attr.name=\"type\"/>";
    let role = |name: &str| if name.starts_with('h') { "host" } else { "switch" };
    let xml_nodes: String = nodes
        .iter()
        .map(|name| format!("<node id=\"{name}\"><data key=\"t\">{}</data></node>\n", role(name)))
        .collect();
    let edge = |a: &str, b: &str| {
        let own = if a.starts_with('h') { "<data key=\"d\">1000 ns</data>" } else { "" };
        format!("<edge source=\"{a}\" target=\"{b}\"><data key=\"r\">{}G</data>{own}</edge>\n", rate(a))
    };
    let graphml = |directed: &str, edges: String| {
        format!(
            "<?xml version='1.0'?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">{keys}\
             <graph edgedefault=\"{directed}\">{xml_nodes}{edges}</graph></graphml>"
        )
    };
    assert_eq!(links(&read(&graphml("undirected", lines(&edge)), "").unwrap()), SQUARE);
    let back = |a: &str, b: &str| {
        let there = edge(a, b);
        let from = format!("source=\"{a}\" target=\"{b}\"");
        format!("{there}{}", there.replace(&from, &format!("source=\"{b}\" target=\"{a}\"")))
    };
    assert_eq!(links(&read(&graphml("directed", lines(&back)), "").unwrap()), SQUARE);

    let gml_nodes: String = nodes
        .iter()
        .map(|name| format!("node [\n id {}\n label \"{name}\"\n type \"{}\"\n]\n", number(name), role(name)))
        .collect();
    let gml_edges = lines(&|a, b| {
        let (from, to) = (number(a), number(b));
        format!("edge [ source {from} target {to} capacity {} delay {} ]\n", rate(a) * 1000, delay(a))
    });
    let gml = format!(
        "Creator \"x\"\ngraph [\n capacity_unit \"Mbps\"\n delay_unit \"ns\"\n{gml_nodes}{gml_edges}]\n"
    );
    assert_eq!(links(&read(&gml, "").unwrap()), SQUARE);

    let hpcc =
        lines(&|a, b| format!("{} {} {}Gbps {}ns 0.000000\n", number(a), number(b), rate(a), delay(a)));
    let numbered = read(&format!("6 4 6\n2 3 4 5\n{hpcc}"), "").unwrap();
    let names = |line: &str| {
        let (ends, rest) = line.split_once(' ').unwrap();
        let (a, b) = ends.split_once('-').unwrap();
        format!("{}-{} {rest}", number(a), number(b))
    };
    assert_eq!(links(&numbered), SQUARE.map(names));
}

#[test]
fn htsims_trees_are_ours() {
    let topo = "# three tiers\nNodes 16\nTiers 3\nPodsize 4\n\
                Tier 0\nDownlink_speed_Gbps 10\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n\
                Tier 1\nDownlink_speed_Gbps 40\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 500\nSwitch_Latency_ns 0\n\
                Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 250\n";
    let theirs = read(topo, "").unwrap().build();
    let ours = "kind = \"tree\"\npods = 4\nedges_per_pod = 2\nhosts_per_edge = 2\naggs_per_pod = 2\ncores = 4\n\
                host_rate = \"10Gbps\"\nedge_rate = \"40Gbps\"\ncore_rate = \"100Gbps\"\n\
                host_delay = \"1us\"\nedge_delay = \"500ns\"\ncore_delay = \"250ns\"";
    let ours = FabricParams::from_table(&ours.parse().unwrap()).unwrap().build();
    let links = |fabric: &crate::Fabric| {
        let mut links: Vec<_> = fabric.ports.iter().map(|p| (p.from, p.to, p.rate, p.delay)).collect();
        links.sort_unstable();
        links
    };
    assert_eq!(links(&theirs), links(&ours));
    assert_eq!(theirs.base_rtt(), ours.base_rtt());
    let bundled = topo
        .replace("Radix_Down 4", "Bundle 2\nRadix_Down 8")
        .replace("Radix_Up 2\nDownlink_Latency_ns 500", "Radix_Up 4\nDownlink_Latency_ns 500");
    let twice = read(&bundled, "").unwrap().build();
    assert_eq!(twice.ports.len(), ours.ports.len() + 2 * 16);
    assert_eq!(
        twice.port_named("agg0->core0#2").map(|port| twice.ports[port as usize].delay),
        Some(Time::from_ns(250))
    );
    for (wrong, because) in [
        (topo.replace("Podsize 4", "Podsize 6"), "Nodes by Podsize: 16 cannot be divided by 6"),
        (topo.replace("Switch_Latency_ns 0", "Switch_Latency_ns 300"), "line 15: Switch_Latency_ns is 300"),
        (topo.replace("Radix_Down 4", "Radix_Down 3"), "Radix_Down of tier 2 is 3, but must be 4: all pods"),
        (topo.replace("Tier 2", "Tier 3"), "line 16: tier 3 where tier 2 is due"),
        (topo.replace("Radix_Up 2", "Radix_Up 0"), "radix_up is 0, but must be 1 to 65536"),
        (topo.replace("Nodes 16", "Nodes many"), "line 2: \"many\" is no whole number"),
        (topo.replace("Nodes 16", "Nodes 4000000000"), "nodes is 4000000000, but must be 2 to 65536"),
        (topo.replacen("Radix_Up 2", "Radix_Up 65534", 1), "switches, but there may be 4096"),
        (topo.replace("Downlink_Latency_ns 250", ""), "downlink_latency_ns of tier 2 is missing"),
    ] {
        let error = read(&wrong, "").unwrap_err();
        assert!(error.to_lowercase().contains(&because.to_lowercase()), "{error}");
    }
}

#[test]
fn hosts_are_what_says_so_or_has_one_link() {
    let by_links = read("a h0\na h1\na b\nb h2\n", "rate = \"1Gbps\"").unwrap();
    let FabricKind::Graph(graph) = &by_links.kind else { panic!() };
    assert_eq!((graph.hosts.join(" "), graph.switches.join(" ")), ("h0 h1 h2".to_owned(), "a b".to_owned()));
    // Links that say nothing have [fabric]'s rate, and a delay of 1 µs.
    assert_eq!(links(&by_links)[2], "a-b 1Gbps 1us");
    // A switch that only a link to one other leads to is one if it says so.
    let gml = |role: &str| {
        format!(
            "graph [ node [ id 0 type \"host\" ] node [ id 1 type \"host\" ] node [ id 2 type \"tor\" ] \
             node [ id 3 {role} ] edge [ source 0 target 2 ] edge [ source 1 target 2 ] edge [ source 2 target 3 ] ]"
        )
    };
    let FabricKind::Graph(graph) = read(&gml("type \"Spine\""), "rate = \"1Gbps\"").unwrap().kind else {
        panic!()
    };
    assert_eq!(graph.switches, ["2", "3"]);
    let error = |role: &str| read(&gml(role), "rate = \"1Gbps\"").unwrap_err();
    assert!(error("").contains("node \"3\" does not say what it is, as others do"));
    assert!(error("type \"printer\"").contains("node \"3\" is a \"printer\": neither a host"));
}

#[test]
fn numbers_and_names_are_as_others_write_them() {
    let gml = "graph [ node [ id 0 label \"&#228; &#38; &lt;b&gt;\" ] node [ id 1 label \"s&\" ] node [ id 2 label \"c\" ] \
               edge [ source 0 target 1 rate_bps 1e10 delay_s 1e-06 ] edge [ source 1 target 2 rate_bps 2.5E+9 delay_us 2.5e0 ] ]";
    let written = ["ä & <b>-s& 10Gbps 1us", "s&-c 2.5Gbps 2.5us"];
    assert_eq!(links(&read(gml, "").unwrap()), written);
}

#[test]
fn weights_are_shares() {
    // Links of hosts, which say none here, share with no other.
    let csv = "from,to,ecmp_weight\nh0,a,\nh1,b,\na,b,100\na,b,400\na,b,1000\n";
    let FabricKind::Graph(graph) = read(csv, "rate = \"1Gbps\"").unwrap().kind else { panic!() };
    assert_eq!(graph.links.iter().map(|link| link.ecmp_weight).collect::<Vec<_>>(), [1, 1, 1, 4, 10]);
    assert!(
        read(&csv.replace("1000", "1001"), "rate = \"1Gbps\"").unwrap_err().contains("no common divisor")
    );
}

#[test]
fn what_is_wrong_with_a_graph_is_said_of_its_file() {
    let folder = std::env::temp_dir().join(format!("tailrace-graphs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("g.txt"), "h0 a 1Gbps\nh1 a 1Gbps\nh2 b 1Gbps\nh3 b 1Gbps\n").unwrap();
    let mut fabric: Table = "kind = \"graph\"\nfile = \"g.txt\"".parse().unwrap();
    let error = read_files(&mut fabric, &folder).unwrap_err().to_string();
    assert!(error.contains("g.txt: switches[1]: is \"b\", to which no links lead from \"a\""), "{error}");
    std::fs::write(folder.join("g.txt"), "h0 a 1Gbps\nh1 a 1Gbps\na a 2Gbps\n").unwrap();
    let error = read_files(&mut fabric, &folder).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.contains("g.txt:3: link[2].ends: are \"a\" twice"), "{error}");
}

#[test]
fn hosts_are_numbered_rack_by_rack() {
    let params = read("h0 a\nh1 b\nh2 a\na b\nh3 b\n", "rate = \"1Gbps\"").unwrap();
    let FabricKind::Graph(graph) = &params.kind else { panic!() };
    assert_eq!(graph.hosts, ["h0", "h2", "h1", "h3"]);
    // What is read of a file has that order, too.
    let fields = graph_of_text("h0 a\nh1 b\nh2 a\na b\nh3 b\n", None, None).unwrap();
    assert_eq!(fields["hosts"].to_string(), "[\"h0\", \"h2\", \"h1\", \"h3\"]");
    let (racks, fabric) = (params.racks(), params.build());
    assert_eq!((racks.hosts(0), racks.hosts(1), racks.count()), (0..2, 2..4, 2));
    assert_eq!(fabric.edge_of, [0, 0, 1, 1]);
    assert_eq!(fabric.port_named("b->h3").map(|port| fabric.ports[port as usize].to), Some(Node::Host(3)));
    // What is written is read back as it is.
    assert_eq!(FabricParams::from_table(&params.to_table()), Ok(params));
}

#[test]
fn mistakes_say_where_and_what_would_be_right() {
    let own = "rate = \"1Gbps\"";
    let two = "h0 a\nh1 a\n";
    let graph =
        |inner: &str| format!("<graphml>\n<graph edgedefault=\"undirected\">\n{inner}\n</graph></graphml>");
    for (text, own, because) in [
        ("", own, "is empty: it must hold a graph"),
        ("# nothing\n", own, "is empty"),
        (two, "", "link[0].rate: is missing: give the link a rate, or [fabric] one for all"),
        ("h0 a\nh1 a 7\n", own, "line 2: has \"7\", which is neither a rate such as 40Gbps nor a delay"),
        ("h0 a 1Gbps 2Gbps\n", own, "line 1: has two rates"),
        ("h0 a 100MB/s\n", own, "line 1: has \"100MB/s\", which is neither a rate"),
        (
            "from,to,rate_GBps\nh0,a,1\nh1,a,1\n",
            own,
            "line 2: the link of \"h0\" and \"a\": rate_GBps is \"1\", which is no rate",
        ),
        (
            "from,to,rate,capacity\nh0,a,1Gbps,2Gbps\nh1,a,1Gbps,2Gbps\n",
            own,
            "line 2: the link of \"h0\" and \"a\" has capacity and rate: give one",
        ),
        (
            "graph [ node [ id 1 label \"a\" ] node [ id 2 label \"a\" ] edge [ source 1 target 2 ] ]",
            own,
            "two nodes are called \"a\"",
        ),
        ("a b\nb c\nc a\n", own, "has no hosts: no node says type = \"host\""),
        (
            &graph("<node id=\"a\"/><node id=\"b\"/>\n<edge directed=\"true\" source=\"a\" target=\"b\"/>"),
            own,
            "line 4: <edge> is directed in a graph that is not",
        ),
        ("h0\n", own, "line 1: is no link: it must name two nodes"),
        (
            "from,to,rate\nh0,a,10\nh1,a,10\n",
            own,
            "line 2: the link of \"h0\" and \"a\": rate is 10, of what? Give it a unit, or [fabric] units = { rate = \"Gbps\" }",
        ),
        (
            "from,to,rate\nh0,a,fast\n",
            own,
            "line 2: the link of \"h0\" and \"a\": rate is \"fast\", which is no rate such as",
        ),
        ("from,to,rate\nh0,a\n", own, "line 2: has 2 cells, but the header has 3"),
        ("from,to,weight\nh0,a,1\nh1,a,2\n", own, "line 2: the link of \"h0\" and \"a\" has a weight"),
        ("from,to,metric\nh0,a,0.5\nh1,a,2\n", own, "metric is \"0.5\", but must be a whole number from 1"),
        ("h0 a\nh1 b\n", own, "link[0].ends: are the hosts \"h0\" and \"a\""),
        ("h0 a\nh1 a\nh2 b\nh3 b\n", own, "switches[1]: is \"b\", to which no links lead from \"a\""),
        ("h0 a\nh1 a\na a\n", own, "link[2].ends: are \"a\" twice"),
        ("h0 h1\n", own, "ends: are the hosts \"h0\" and \"h1\""),
        ("3 1 2\n2\n0 2 1Gbps 1us 0\n", own, "has 1 links, but says that there are 2"),
        ("3 1 2\n2\n0 2 1Gbps 1us 0.01\n1 2 1Gbps 1us 0\n", own, "line 3: loses packets (0.01)"),
        ("3 2 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", own, "line 2: names 1 switches, but there are 2"),
        (
            "4 2 4\n2 3\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 3 1Gbps 1us 0\n",
            own,
            "link[1]: is another of host \"0\": a host has one link",
        ),
        ("<svg/>", own, "is XML, but its root is <svg>, not <graphml>"),
        ("<graphml>", own, "line 1: is no XML"),
        (&graph("<node id=\"a\"/><node/>"), own, "line 3: <node> has no id"),
        (
            &graph("<node id=\"a\"/><node id=\"a\"/><edge source=\"a\" target=\"b\"/>"),
            own,
            "node \"a\" is there twice",
        ),
        (
            &graph("<node id=\"a\"/>\n<edge source=\"a\" target=\"b\"/>"),
            own,
            "line 4: a link leads to \"b\", which is no node",
        ),
        (&graph("<node id=\"a\"/>"), own, "has no links"),
        ("<graphml/>", own, "holds no <graph>"),
        ("graph [ node [ id 1 ] ", own, "line 1: a [ without its ]"),
        ("graph [ node [ label \"x\" ] ]", own, "a node without id"),
        ("graph [ \"x ]", own, "a \" without its end"),
    ] {
        let error = read(text, own).expect_err(text);
        assert!(error.contains(because), "{text}\n{error}\n{because}");
    }
    let directed = graph("<node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"/>")
        .replace("undirected", "directed");
    assert!(read(&directed, own).unwrap_err().contains("a link leads from \"a\" to \"b\" and none back"));
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    const WORDS: [&str; 22] = [
        "graph",
        "[",
        "]",
        "node",
        "edge",
        "id",
        "source",
        "target",
        "\"",
        "1",
        "2",
        "a",
        "b",
        ",",
        "\n",
        " ",
        "10Gbps",
        "1us",
        "<graphml>",
        "<graph>",
        "</graph>",
        "Nodes",
    ];

    proptest! {
        /// Whatever a file holds, it is a fabric or an error.
        #[test]
        fn is_a_graph_or_an_error(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60), blanks: bool) {
            let text = words.join(if blanks { " " } else { "" });
            if let Ok(params) = read(&text, "rate = \"1Gbps\"") {
                let fabric = params.build();
                prop_assert!(fabric.base_rtt() > Time::ZERO);
            }
        }
    }
}
