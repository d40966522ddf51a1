// Keeps a page as its stream of events says. All that it is told becomes text: the policy of the page lets it make no HTML.
"use strict";

const main = document.querySelector("[data-events]");
const status = document.getElementById("status");
const source = new EventSource(main.dataset.events);
let lost = false;

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function fill(within, values) {
  for (const cell of within.querySelectorAll("[data-live]")) setText(cell, values[cell.dataset.live] ?? "");
}

function found() {
  if (lost) setText(status, "");
  lost = false;
}

// Rows that stay keep their place in the document, and with it the focus.
source.addEventListener("runs", (event) => {
  found();
  const board = JSON.parse(event.data);
  const body = document.querySelector("#going tbody");
  const rows = new Map(Array.from(body.children, (row) => [row.dataset.name, row]));
  setText(status, board.count);
  board.runs.forEach((run, i) => {
    let row = rows.get(run.name);
    if (!row) {
      row = document.getElementById("row").content.firstElementChild.cloneNode(true);
      row.dataset.name = run.name;
      row.querySelector("a").href = run.link;
    }
    rows.delete(run.name);
    fill(row, run);
    if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null);
  });
  for (const row of rows.values()) row.remove();
});

source.addEventListener("run", (event) => {
  found();
  const run = JSON.parse(event.data);
  fill(main, run);
  for (const log of main.querySelectorAll("[data-pieces]")) {
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8 || !log.dataset.seen;
    log.dataset.seen = "yes";
    log.replaceChildren(...(run[log.dataset.pieces] ?? []).map((piece) => {
      const part = document.createElement(piece.Mark ? "i" : "span");
      part.textContent = piece.Text;
      return part;
    }));
    if (atEnd) log.scrollTop = log.scrollHeight; // who reads further up stays there
  }
});

source.addEventListener("end", () => {
  source.close();
  location.reload();
});

source.addEventListener("error", () => {
  lost = true;
  setText(status, main.dataset.lost);
});
