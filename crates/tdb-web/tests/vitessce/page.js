// A page with Vitessce over an experiment that `tdb serve --anndata` shows: its embedding with the
// sets of a column, its genes, and a heatmap. `?url=` is the address of the Zarr view.

import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { CoordinationType, ViewType, Vitessce, VitessceConfig } from 'vitessce';

const url = new URLSearchParams(location.search).get('url');
const config = new VitessceConfig({ schemaVersion: '1.0.16', name: 'cells' });
const cells = config.addDataset('cells').addFile({
  url,
  fileType: 'anndata.zarr',
  options: {
    obsEmbedding: [{ path: 'obsm/X_umap', embeddingType: 'UMAP' }],
    obsFeatureMatrix: { path: 'X' },
    obsSets: [{ name: 'Cell type', path: 'obs/cell_type' }],
  },
  coordinationValues: { embeddingType: 'UMAP' },
});
const scatter = config.addView(cells, ViewType.SCATTERPLOT, { mapping: 'UMAP' });
scatter.useCoordination(
  ...config
    .addCoordination(
      CoordinationType.EMBEDDING_OBS_RADIUS_MODE,
      CoordinationType.EMBEDDING_OBS_RADIUS,
      CoordinationType.EMBEDDING_OBS_OPACITY_MODE,
      CoordinationType.EMBEDDING_OBS_OPACITY,
    )
    .map((scope, at) => scope.setValue(['manual', 3, 'manual', 1][at])),
);
scatter.setXYWH(0, 0, 6, 12);
config.addView(cells, ViewType.FEATURE_LIST).setXYWH(6, 0, 3, 6);
config.addView(cells, ViewType.OBS_SETS).setXYWH(9, 0, 3, 6);
config.addView(cells, ViewType.HEATMAP).setXYWH(6, 6, 6, 6);
createRoot(document.getElementById('root')).render(
  createElement(Vitessce, {
    config: config.toJSON(),
    height: 800,
    theme: 'light',
    onConfigChange: (now) => {
      window.now = now.coordinationSpace;
    },
  }),
);
