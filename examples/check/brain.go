package check

import (
	"fmt"
	"math"
	"path/filepath"
)

// series is one column of brain_networks.csv.
type series struct {
	network, name string
	values        []float64
}

// BrainNetworks compares nodes.csv and networks.csv in outDir with correlations computed from
// brain_networks.csv in dataDir, and looks at heatmap.svg or heatmap.png.
func BrainNetworks(dataDir, outDir string) error {
	all, err := readSeries(filepath.Join(dataDir, "brain_networks.csv"))
	if err != nil {
		return err
	}
	correlations := make([][]float64, len(all))
	nodes, nodeHeader := table{}, []string{"network-node-hemi"}
	for i, a := range all {
		for _, b := range all {
			correlations[i] = append(correlations[i], correlation(a.values, b.values))
		}
		nodes[a.name] = correlations[i]
		nodeHeader = append(nodeHeader, a.name)
	}
	if err := compare(filepath.Join(outDir, "nodes.csv"), nodeHeader, 1, nodes); err != nil {
		return err
	}
	networks, header := networkMeans(all, correlations)
	if err := compare(filepath.Join(outDir, "networks.csv"), header, 1, networks); err != nil {
		return err
	}
	return figure(outDir, "heatmap", 20)
}

func readSeries(path string) ([]series, error) {
	rows, err := readCSV(path)
	if err != nil {
		return nil, err
	}
	all := make([]series, len(rows[0])-1)
	for i := range all {
		all[i].network = rows[0][i+1]
		all[i].name = fmt.Sprintf("%s-%s-%s", rows[0][i+1], rows[1][i+1], rows[2][i+1])
	}
	for _, row := range rows[4:] {
		numbers, err := parse(row[1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		for i := range all {
			all[i].values = append(all[i].values, numbers[i])
		}
	}
	return all, nil
}

// correlation from the sums of one pass over both series.
func correlation(x, y []float64) float64 {
	var sx, sy, sxx, syy, sxy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		sxx, syy, sxy = sxx+x[i]*x[i], syy+y[i]*y[i], sxy+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
}

// networkMeans averages Fisher's z over the ordered pairs of different series of each two networks.
func networkMeans(all []series, correlations [][]float64) (means table, header []string) {
	header = []string{"network"}
	place := map[string]int{}
	for _, s := range all {
		if _, ok := place[s.network]; !ok {
			place[s.network] = len(place)
			header = append(header, s.network)
		}
	}
	means, pairs := table{}, table{}
	for network := range place {
		means[network], pairs[network] = make([]float64, len(place)), make([]float64, len(place))
	}
	for i, a := range all {
		for j, b := range all {
			if i == j {
				continue
			}
			r := correlations[i][j]
			means[a.network][place[b.network]] += math.Log((1+r)/(1-r)) / 2
			pairs[a.network][place[b.network]]++
		}
	}
	for network, sums := range means {
		for i := range sums {
			e := math.Exp(2 * sums[i] / pairs[network][i])
			sums[i] = (e - 1) / (e + 1)
		}
	}
	return means, header
}
