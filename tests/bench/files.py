"""The files that the prompts ask to change, in several languages."""

LEDGER_PY = '''\
"""A ledger of accounts."""

from dataclasses import dataclass, field


@dataclass
class Entry:
    """One movement of money."""

    account: str
    amount: int
    text: str = ""


@dataclass
class Ledger:
    """All movements, in order."""

    entries: list = field(default_factory=list)

    def book(self, account, amount, text=""):
        """Note a movement."""
        self.entries.append(Entry(account, amount, text))

    def balance(self, name):
        """What an account holds."""
        return sum(entry.amount for entry in self.entries if entry.account == name)

    def transfer(self, source, target, amount):
        """Move money from one account to another."""
        if amount <= 0:
            raise ValueError("the amount must be positive")
        self.book(source, -amount, f"to {target}")
        self.book(target, amount, f"from {source}")

    def statement(self, name):
        """The movements of an account with the balance after each."""
        lines, total = [], 0
        for entry in self.entries:
            if entry.account == name:
                total += entry.amount
                lines.append(f"{entry.text:20} {entry.amount:8} {total:8}")
        lines.append(f"{'balance':20} {self.balance(name):17}")
        return "\\n".join(lines)
'''

TASKS_PY = '''\
"""Tasks in a file, one a line."""

import json
import os


def load(path):
    """Read all tasks; none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def save(path, tasks):
    """Write all tasks."""
    with open(path, "w") as file:
        for task in tasks:
            file.write(json.dumps(task) + "\\n")


def add(tasks, title, due=None):
    """A new task at the end."""
    number = max((task["number"] for task in tasks), default=0) + 1
    tasks.append({"number": number, "title": title, "due": due, "done": False})
    return number


def finish(tasks, number):
    """Mark a task as done; whether there was one."""
    for task in tasks:
        if task["number"] == number:
            task["done"] = True
            return True
    return False


def open_tasks(tasks):
    """Those that are not done, the most urgent first."""
    waiting = [task for task in tasks if not task["done"]]
    return sorted(waiting, key=lambda task: (task["due"] is None, task["due"]))
'''

COUNTER_JS = """\
const fs = require("fs");

function readCount(path, done) {
  fs.readFile(path, "utf8", (error, text) => {
    if (error && error.code === "ENOENT") {
      return done(null, 0);
    }
    if (error) {
      return done(error);
    }
    done(null, parseInt(text, 10) || 0);
  });
}

function writeCount(path, count, done) {
  fs.writeFile(path, String(count), "utf8", done);
}

function increment(path, step, done) {
  readCount(path, (error, count) => {
    if (error) {
      return done(error);
    }
    writeCount(path, count + step, (failure) => {
      if (failure) {
        return done(failure);
      }
      done(null, count + step);
    });
  });
}

module.exports = { readCount, writeCount, increment };
"""

ROUTES_GO = """\
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"sync"
)

type Note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

type Server struct {
	mu    sync.Mutex
	notes []Note
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	json.NewEncoder(w).Encode(s.notes)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var note Note
	if err := json.NewDecoder(r.Body).Decode(&note); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	note.ID = len(s.notes) + 1
	s.notes = append(s.notes, note)
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(note)
}

func main() {
	server := &Server{}
	http.HandleFunc("GET /notes", server.list)
	http.HandleFunc("POST /notes", server.create)
	log.Fatal(http.ListenAndServe(":8080", nil))
}
"""

MATRIX_RS = """\
/// A matrix of numbers, row by row.
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Matrix {
        if values.len() != rows * columns {
            panic!("{} values for {} x {}", values.len(), rows, columns);
        }
        Matrix { rows, columns, values }
    }

    pub fn get(&self, row: usize, column: usize) -> f64 {
        if row >= self.rows || column >= self.columns {
            panic!("({}, {}) is outside", row, column);
        }
        self.values[row * self.columns + column]
    }

    pub fn multiply(&self, other: &Matrix) -> Matrix {
        if self.columns != other.rows {
            panic!("{} columns times {} rows", self.columns, other.rows);
        }
        let mut values = Vec::with_capacity(self.rows * other.columns);
        for row in 0..self.rows {
            for column in 0..other.columns {
                let mut sum = 0.0;
                for i in 0..self.columns {
                    sum += self.get(row, i) * other.get(i, column);
                }
                values.push(sum);
            }
        }
        Matrix::new(self.rows, other.columns, values)
    }
}
"""

SCHEMA_SQL = """\
create table customers (
    id bigint generated always as identity primary key,
    name text not null,
    email text not null unique,
    created_at timestamptz not null default now()
);

create table products (
    id bigint generated always as identity primary key,
    title text not null,
    price numeric(10, 2) not null check (price >= 0),
    created_at timestamptz not null default now()
);

create table orders (
    id bigint generated always as identity primary key,
    customer_id bigint not null references customers (id),
    status text not null default 'open',
    created_at timestamptz not null default now()
);

create table order_items (
    order_id bigint not null references orders (id),
    product_id bigint not null references products (id),
    quantity integer not null check (quantity > 0),
    created_at timestamptz not null default now(),
    primary key (order_id, product_id)
);
"""

STYLE_CSS = """\
body {
  margin: 0;
  font-family: system-ui, sans-serif;
  color: #222222;
  background: #ffffff;
}

header {
  padding: 1rem 2rem;
  color: #ffffff;
  background: #336699;
}

nav a {
  margin-right: 1rem;
  color: #ddeeff;
  text-decoration: none;
}

nav a:hover {
  color: #ffffff;
  text-decoration: underline;
}

main {
  max-width: 60rem;
  margin: 2rem auto;
  padding: 0 1rem;
}

table {
  width: 100%;
  border-collapse: collapse;
}

th,
td {
  padding: 0.5rem;
  border-bottom: 1px solid #cccccc;
  text-align: left;
}

tr:nth-child(even) {
  background: #f4f4f4;
}

button {
  padding: 0.5rem 1rem;
  color: #ffffff;
  background: #2a7d2a;
  border: none;
  border-radius: 0.25rem;
}
"""

CONFIG_YAML = """\
services:
  web:
    build: .
    command: gunicorn app:app --bind 0.0.0.0:8000 --workers 4
    ports:
      - "8000:8000"
    environment:
      DATABASE_URL: postgres://app:secret@db:5432/app
      LOG_LEVEL: info
    depends_on:
      - db
    restart: unless-stopped
    healthcheck:
      test: ["CMD", "curl", "-f", "http://localhost:8000/health"]
      interval: 30s
      timeout: 5s
      retries: 3
  db:
    image: postgres:16
    environment:
      POSTGRES_USER: app
      POSTGRES_PASSWORD: secret
      POSTGRES_DB: app
    volumes:
      - data:/var/lib/postgresql/data
    restart: unless-stopped
    healthcheck:
      test: ["CMD-SHELL", "pg_isready -U app"]
      interval: 10s
      timeout: 5s
      retries: 5
volumes:
  data:
"""
