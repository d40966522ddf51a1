package options

import "testing"

func TestConfigKeyAbsolute(t *testing.T) {
	tests := []struct{ key, value, want string }{
		{"data", "measured", "/here/measured"},
		{"data", "/there", "/there"},
		{"data", "none", "none"},
		{"docs", "../papers", "/papers"},
		{"docs", "none", "none"},
		{"project", ".", "/here"},
		{"stage", "in", "/here/in"},
		{"export", "out", "/here/out"},
		{"input", "a.csv", "/here/a.csv:/inputs/a.csv"},
		{"input", "a.csv:/inputs/b.csv", "/here/a.csv:/inputs/b.csv"},
		{"rootfs", "host", "host"},
		{"rootfs", "python", "python"},
		{"rootfs", "./python", "/here/python"},
		{"runtime", "science", "science"},
		{"runtime", "envs/science", "/here/envs/science"},
		{"runtimes.science", "science", "/here/science"},
		{"allow_binds", "data", "/here/data"},
		{"root", "root", "/here/root"},
		{"tmp", "tmp", "/here/tmp"},
		{"db", "sqlite://a.db", "sqlite:///here/a.db"},
		{"db", "postgres://u@h/d", "postgres://u@h/d"},
		{"blobs", "file://b", "file:///here/b"},
		{"blobs", "s3://bucket/b", "s3://bucket/b"},
		{"events", "log", "/here/log"},
		{"events", "fd:3", "fd:3"},
		{"post_process", "./hook -v", "/here/hook -v"},
		{"post_process", "tee log", "tee log"},
		{"post_process", "'./my hook' -v", "'./my hook' -v"},
		{"memory", "1GiB", "1GiB"},
		{"label", "a=b/c", "a=b/c"},
		{"output", "*.csv", "*.csv"},
		{"data", "", ""},
	}
	for _, test := range tests {
		key, err := ParseConfigKey(test.key)
		if err != nil {
			t.Fatal(err)
		}
		if got := key.Absolute("/here", []string{test.value}); len(got) != 1 || got[0] != test.want {
			t.Errorf("%s %q: %q, want %q", test.key, test.value, got, test.want)
		}
	}
}
