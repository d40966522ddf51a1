import networkx as nx

g = nx.karate_club_graph()
print(nx.shortest_path(g, 0, 33), round(nx.density(g), 6), sorted(nx.pagerank(g).items())[:2])
nx.write_gml(g, 'karate.gml')
