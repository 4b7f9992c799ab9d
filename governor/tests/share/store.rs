//! The server in simulated time: runs the very script that a real one runs.

use governor::relay::share::protocol::SCRIPT;
use mlua::{Function, Lua, Table, Value, Variadic};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

type Hashes = BTreeMap<String, BTreeMap<String, String>>;

pub struct Store {
    lua: Lua,
    script: Function,
    hashes: Rc<RefCell<Hashes>>,
    /// Its clock, milliseconds.
    clock: Rc<Cell<u64>>,
}

impl Store {
    pub fn new() -> Self {
        let lua = Lua::new();
        let hashes = Rc::new(RefCell::new(Hashes::new()));
        let clock = Rc::new(Cell::new(0));
        let call = {
            let (hashes, clock) = (Rc::clone(&hashes), Rc::clone(&clock));
            lua.create_function(move |lua, arguments: Variadic<String>| {
                call(lua, &mut hashes.borrow_mut(), clock.get(), &arguments)
            })
            .unwrap()
        };
        let redis = lua.create_table().unwrap();
        redis.set("call", call).unwrap();
        lua.globals().set("redis", redis).unwrap();
        let script = lua.load(SCRIPT).into_function().unwrap();
        Self { lua, script, hashes, clock }
    }

    /// One `EVAL` at that time of its clock, milliseconds.
    pub fn eval(&self, at: u64, key: &str, arguments: &[String]) -> Vec<i64> {
        self.clock.set(at);
        let globals = self.lua.globals();
        globals.set("KEYS", self.lua.create_sequence_from([key]).unwrap()).unwrap();
        globals.set("ARGV", self.lua.create_sequence_from(arguments.iter().map(String::as_str)).unwrap()).unwrap();
        let answer: Table = self.script.call(()).unwrap();
        // A server gives back whole numbers.
        #[expect(clippy::cast_possible_truncation, reason = "that is what the server does with them")]
        answer.sequence_values::<f64>().map(|figure| figure.unwrap().trunc() as i64).collect()
    }

    /// Everything it knew is gone.
    pub fn forget(&self) {
        self.hashes.borrow_mut().clear();
    }
}

fn call(lua: &Lua, hashes: &mut Hashes, now: u64, arguments: &[String]) -> mlua::Result<Value> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let list = |items: Vec<String>| Ok(Value::Table(lua.create_sequence_from(items)?));
    match words[..] {
        ["TIME"] => list(vec![(now / 1000).to_string(), (now % 1000 * 1000).to_string()]),
        ["HGETALL", key] => {
            list(hashes.get(key).into_iter().flatten().flat_map(|(k, v)| [k.clone(), v.clone()]).collect())
        }
        ["HSET", key, field, value] => {
            hashes.entry(key.to_owned()).or_default().insert(field.to_owned(), value.to_owned());
            Ok(Value::Integer(1))
        }
        ["HDEL", key, field] => {
            hashes.entry(key.to_owned()).or_default().remove(field);
            Ok(Value::Integer(1))
        }
        ["PEXPIRE", _, time] => Ok(Value::Integer(time.parse::<i64>().unwrap())),
        _ => panic!("{words:?}"),
    }
}
