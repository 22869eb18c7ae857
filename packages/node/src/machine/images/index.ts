export { bytesOverThreshold, chooseImages, type ImageChoice } from "./choose-images.ts";
export { ImageCollector, type ImageCollectorOptions } from "./image-collector.ts";
