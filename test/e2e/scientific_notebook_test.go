package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// notebook makes a notebook of these cells, for a kernel of this name and language.
func notebook(t *testing.T, kernel, language string, cells ...string) string {
	t.Helper()
	var list []map[string]any
	for _, source := range cells {
		list = append(list, map[string]any{
			"cell_type": "code", "source": source, "metadata": map[string]any{}, "outputs": []any{}, "execution_count": nil,
		})
	}
	text, err := json.Marshal(map[string]any{
		"nbformat": 4, "nbformat_minor": 4, "cells": list,
		"metadata": map[string]any{"kernelspec": map[string]any{"name": kernel, "display_name": kernel, "language": language}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// executed is what a notebook has after its execution.
type executed struct {
	Cells []struct {
		Count   *int `json:"execution_count"`
		Outputs []struct {
			Text  any            `json:"text"`
			Data  map[string]any `json:"data"`
			Error string         `json:"ename"`
		} `json:"outputs"`
	} `json:"cells"`
}

// executedNotebook reads the notebook that a run has among its outputs.
func (h *harness) executedNotebook(r result, name string) executed {
	h.t.Helper()
	var n executed
	for _, output := range r.Outputs {
		if output.Path != name {
			continue
		}
		if err := json.Unmarshal([]byte(h.blob(output.SHA256)), &n); err != nil {
			h.t.Fatal(err)
		}
		return n
	}
	h.t.Fatalf("no %s among %v; stderr: %s", name, r.Outputs, h.stderrOf(r))
	return n
}

// cell returns all that one cell put out.
func (n executed) cell(number int) string {
	text, err := json.Marshal(n.Cells[number].Outputs)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// runNotebook runs a notebook under its name with the default limits and further flags.
func (h *harness) runNotebook(text string, flags ...string) result {
	h.t.Helper()
	script := h.write("study.ipynb", text, 0o644)
	return h.start(append([]string{"--id", h.newID(), "--script", script, "--memory", "1GiB"}, flags...)...)
}

// TestNotebook: a notebook is executed in /work and saved there with all its outputs, also those of its forked
// children, and nothing that it needs is refused. The same notebook twice is the same bytes.
func TestNotebook(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	text := notebook(t, "python3", "python",
		"import os\nprint(os.getcwd())\nopen('table.csv', 'w').write('a\\n1\\n')",
		"%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()",
		"from multiprocessing import Process\np = Process(target=print, args=('from a child',))\np.start(); p.join()",
		"6 * 7")
	r := h.runNotebook(text)
	r.expect(t, "complete", "exit", 0)
	n := h.executedNotebook(r, "study.ipynb")
	for number, want := range []string{"/work", "image/png", "from a child", `"text/plain":["42"]`} {
		if got := n.cell(number); !strings.Contains(got, want) {
			t.Errorf("cell %d put out %.300s; want %s", number+1, got, want)
		}
	}
	if len(r.Outputs) != 2 || r.AuditTotal != 0 {
		t.Errorf("outputs %v, audit %q", r.Outputs, r.said())
	}
	if again := h.runNotebook(text); len(again.Outputs) != 2 || again.Outputs[0].SHA256 != r.Outputs[0].SHA256 {
		t.Errorf("a second run wrote %v; want %v", again.Outputs, r.Outputs)
	}
}

// TestNotebookFails: however a notebook ends, its outputs so far are saved.
func TestNotebookFails(t *testing.T) {
	for name, c := range map[string]struct {
		cell, reason string
		code         int
		words        string
	}{
		"a cell":     {"1 / 0", "exit", 1, "cell 2 of 3: ZeroDivisionError: division by zero"},
		"the kernel": {"import os\nos.kill(os.getpid(), 9)", "exit", 1, "cell 2 of 3: Kernel died"},
		"all of it":  {"import os\nos.kill(os.getppid(), 9)", "signal", 137, "cell 2 of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			r := h.runNotebook(notebook(t, "python3", "python", "print('first')", c.cell, "print('never')"))
			r.expect(t, "failed", c.reason, c.code)
			if said := h.stderrOf(r); !strings.Contains(said, c.words) {
				t.Errorf("no %q in %q", c.words, said)
			}
			if want := "exited with 1: study.ipynb: " + c.words; c.reason == "exit" && !strings.Contains(r.Message, want) {
				t.Errorf("message %q, want %q", r.Message, want)
			}
			n := h.executedNotebook(r, "study.ipynb")
			if !strings.Contains(n.cell(0), "first") || n.Cells[2].Count != nil {
				t.Errorf("the notebook was saved as %+v", n)
			}
			if name == "a cell" && n.Cells[1].Outputs[0].Error != "ZeroDivisionError" {
				t.Errorf("the error is not in the notebook: %s", n.cell(1))
			}
		})
	}
}

// TestNotebookKernels: a Python kernel of another name works, another language does not, and an environment that cannot
// run a notebook says so.
func TestNotebookKernels(t *testing.T) {
	h := newHarness(t)
	h.write("none/nbformat.py", "raise ImportError('no module nbformat')\n", 0o644)
	for name, c := range map[string]struct {
		text  string
		flags []string
		code  int
		words string
	}{
		"another name":     {notebook(t, "my-env", "python", "1"), nil, 0, "there is no kernel my-env here, so python3 runs it"},
		"another language": {notebook(t, "ir", "R", "1"), nil, 127, "there is no kernel ir here, only: python3"},
		"no notebook":      {"{", nil, 1, "study.ipynb: this is no notebook"},
		"without nbclient": {
			notebook(t, "python3", "python", "1"),
			[]string{"--input", h.path("none"), "--env", "PYTHONPATH=/inputs/none"},
			127, "Python here cannot run notebooks (no module nbformat)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			r := h.runNotebook(c.text, c.flags...)
			if said := h.stderrOf(r); r.ExitCode != c.code || !strings.Contains(said, c.words) {
				t.Errorf("exit code %d, %q; want %d, %q", r.ExitCode, said, c.code, c.words)
			}
		})
	}
}
